import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openFork } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { runCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { connectTo, eras } from './mcp-client.ts'

// Needs overlays: see docs/guides/forks.md.
const here = process.platform === 'linux' ? describe : describe.skip

here('toolwright mcp --fork', () => {
  test.each(eras)('%s: tools and commands change the fork, which stays for the user', async (era) => {
    const box = makeSandbox()
    box.put('a.txt', 'one\n')
    const store = join(box.outside, 'forks')
    const args = ['--fork', '--fork-store', store, '--allow', 'write', '--allow', 'bash']
    const { client, call, written } = await connectTo(box.root, era, { args })
    expect(client.getInstructions()).toContain('What they change stays in a fork')
    expect(await call('write', { path: 'b.txt', content: 'b\n' })).toMatchObject({ code: 'ok' })
    expect(await call('bash', { command: `echo two > ${box.at('a.txt')}; cat b.txt` })).toMatchObject({ code: 'ok' })
    expect((await call('read', { path: 'a.txt' })).text).toContain('two')
    expect([box.text('a.txt'), existsSync(box.at('b.txt'))]).toEqual(['one\n', false])
    await client.close()
    await expect
      .poll(() => written.stderr, { timeout: 20_000 })
      .toMatch(/The fork stays, with 2 changed paths: 'toolwright forks diff \S+' shows it/u)
    const id = /forks apply (\S+)'/u.exec(written.stderr)?.[1]
    const fork = await openFork({ id, store })
    expect((await fork.apply()).applied.map(({ path }) => path)).toEqual(['a.txt', 'b.txt'])
    await fork.discard()
    expect(box.text('a.txt')).toBe('two\n')
  })

  test('a fork without changes goes with the server, and one of several roots is refused', async () => {
    const box = makeSandbox()
    box.put('a.txt', 'one\n')
    const store = join(box.outside, 'forks')
    const { client, call } = await connectTo(box.root, '2025', { args: ['--fork', '--fork-store', store] })
    expect((await call('read', { path: 'a.txt' })).text).toContain('one')
    await client.close()
    const list = async (): Promise<unknown> => JSON.parse((await runCli(['forks', 'list', '--store', store, '--json'])).stdout)
    await expect.poll(list, { timeout: 20_000 }).toEqual([])
    for (const args of [
      ['--root', box.root, '--root', box.outside, '--fork'],
      ['--root', box.root, '--fork-store', store],
    ]) {
      expect(await runCli(['mcp', ...args])).toMatchObject({ code: 2 })
    }
  })
})
