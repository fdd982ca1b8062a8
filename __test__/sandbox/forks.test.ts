import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openFork } from 'toolwright'
import { createNetworkSandboxSession, createSandboxSession } from 'toolwright/sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

const here = process.platform === 'linux' ? describe : describe.skip

here('a sandbox session in a fork', () => {
  test.each([
    ['createSandboxSession', createSandboxSession],
    ['createNetworkSandboxSession', createNetworkSandboxSession],
  ] as const)('%s: files and commands work in it, and the directory stays as it is', async (_, create) => {
    const box = makeSandbox()
    box.put('a.txt', 'one\n')
    const fork = await openFork({ rootDir: box.root, store: join(box.outside, 'forks') })
    onTestFinished(() => fork.discard())
    const session = create({ rootDir: fork, shell: 'sh' })
    onTestFinished(() => ('destroy' in session ? session.destroy() : session.close()))
    await session.writeTextFile({ path: 'b.txt', content: 'b\n' })
    const { stdout, exitCode } = await session.run({ command: 'pwd; cat b.txt; echo two > a.txt' })
    expect([stdout, exitCode]).toEqual([`${fork.base}\nb\n`, 0])
    expect(await session.readTextFile({ path: join(fork.base, 'a.txt') })).toBe('two\n')
    expect([box.text('a.txt'), existsSync(box.at('b.txt'))]).toEqual(['one\n', false])
    expect((await fork.status()).changes.map(({ path }) => path)).toEqual(['a.txt', 'b.txt'])
  })
})
