import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { expectGone } from '../support/processes.ts'
import { makeSandbox } from '../support/sandbox.ts'

/** A program that starts a command which would write a file late, and then ends in some way. */
const program = (root: string, mark: string, end: string) => `
  import { createTools } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
  const { bash } = createTools({ rootDir: ${JSON.stringify(root)} })
  bash.execute({ cmd: 'sh', args: ['-c', 'touch started; sleep ${mark}; touch late'] }).catch(() => undefined)
  setTimeout(() => { ${end} }, 400)
`

test.each([
  ['process.exit()', 'process.exit(0)'],
  ['an uncaught error', 'throw new Error("on purpose")'],
])('no command outlives its host after %s', async (_, end) => {
  const fixture = makeSandbox()
  const mark = `60.${process.pid}${end.length}`
  await new Promise<void>((resolve) => {
    const args = ['--input-type=module', '-e', program(fixture.root, mark, end)]
    const bun = ['-e', program(fixture.root, mark, end)]
    execFile(process.execPath, process.versions['bun'] === undefined ? args : bun, () => resolve())
  })
  expect(existsSync(fixture.at('started'))).toBe(true)
  await expectGone(mark)
  expect(existsSync(fixture.at('late'))).toBe(false)
})

test('no command outlives the worker that started it, and those of others go on', async () => {
  const fixture = makeSandbox()
  const mark = `60.${process.pid}7`
  const worker = new Worker(fixture.put('worker.mjs', program(fixture.root, mark, '')))
  for (let n = 0; n < 100 && !existsSync(fixture.at('started')); n += 1) await pause(50)
  expect(existsSync(fixture.at('started'))).toBe(true)
  await worker.terminate()
  await expectGone(mark)
})
