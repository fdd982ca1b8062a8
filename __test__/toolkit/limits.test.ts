import { execFile } from 'node:child_process'
import { linkSync } from 'node:fs'
import { promisify } from 'node:util'
import { createTools, type ToolOptions } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { resolveSettings } from '../../ts/toolkit/settings.ts'
import { callPlan } from '../../ts/toolkit/tools/call-plan.ts'
import { runWithDescriptors } from '../support/few-descriptors.ts'
import { refusal } from '../support/refusal.ts'
import { makeSandbox } from '../support/sandbox.ts'

const bytesOf = (text: string): number => Buffer.byteLength(text)

describe('output never exceeds its limit, also where decoding makes it longer', () => {
  test.each([1, 2, 3, 10, 1_000, 1_023, 1_024, 1_500])('bash and grep at %i bytes', async (maxOutputBytes) => {
    const fixture = makeSandbox()
    fixture.put('latin1', Buffer.concat(Array.from({ length: 800 }, () => Buffer.from('x\xe9\xe9\xe9\n', 'latin1'))))
    const tools = createTools({ rootDir: fixture.root, maxOutputBytes })
    expect(bytesOf(await tools.bash.execute({ cmd: 'cat', args: ['latin1'] }))).toBeLessThanOrEqual(maxOutputBytes)
    expect(bytesOf(await tools.grep.execute({ pattern: 'x' }))).toBeLessThanOrEqual(maxOutputBytes)
    const { details } = await refusal(tools.bash.execute({ cmd: 'sh', args: ['-c', 'cat latin1; exit 1'] }))
    expect(bytesOf(details['output'] as string)).toBeLessThanOrEqual(maxOutputBytes)
  })
})

test('a grep that runs out of time shows a model the lines found until then', async () => {
  const fixture = makeSandbox()
  fixture.put('a', 'hit\n')
  // Slow on purpose: without a literal, all of the text goes through the automaton.
  fixture.put('big', `${'lorem x ipsum, dolor x sit q amet '.repeat(40)}\n`.repeat(20_000))
  for (let n = 0; n < 100; n += 1) linkSync(fixture.at('big'), fixture.at(`big${n}`))
  const tools = createTools({ rootDir: fixture.root, toolTimeoutMs: 300 })
  const error = await refusal(tools.grep.execute({ pattern: 'hit|([a-z ,]+x){3}q' }))
  expect(error).toMatchObject({ code: 'PROCESS_TIMEOUT', details: { timeoutMs: 300, output: 'a:1:hit\n' } })
  expect(error.message).toMatch(/Output until then:\na:1:hit\n$/u)
})

test('durability and allowInPlace reach the addon', () => {
  const publish = (options: ToolOptions) => callPlan({ settings: resolveSettings(undefined, options, 'write') }).publish
  expect(publish({})).toMatchObject({ fsync: false, allowInPlace: false })
  expect(publish({ durability: 'fsync' })).toMatchObject({ fsync: true })
  expect(publish({ allowInPlace: true })).toMatchObject({ allowInPlace: true })
})

describe('when the process has no descriptors left', () => {
  const program = `
    import { openSync } from 'node:fs'
    import { createTools } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
    const tools = createTools({ rootDir: process.argv.at(-1) })
    await tools.read.execute({ path: 'file' }) // loads what has to be loaded
    try { for (;;) openSync('/dev/null') } catch {}
    const calls = {
      read: () => tools.read.execute({ path: 'file' }),
      write: () => tools.write.execute({ path: 'other', content: 'x' }),
      edit: () => tools.edit.execute({ path: 'file', patch: '@@ -1 +1 @@\\n-a\\n+b\\n' }),
      grep: () => tools.grep.execute({ pattern: 'a' }),
      bash: () => tools.bash.execute({ cmd: 'true' }),
    }
    const codes = {}
    for (const [name, call] of Object.entries(calls)) codes[name] = await call().then(() => 'ok', (error) => error.code + ' ' + error.details?.errno)
    console.log(JSON.stringify(codes))
    process.exit(0)
  `

  test('every tool says so, and none blames the root directory', async () => {
    const fixture = makeSandbox()
    fixture.put('file', 'a\n')
    const refused = 'TOOL_IO_FAILED EMFILE'
    const codes = { read: refused, write: refused, edit: refused, grep: refused, bash: refused }
    expect(await runWithDescriptors(100, program, fixture)).toEqual(codes)
    expect(fixture.text('file')).toBe('a\n')
  })
})

test('a working directory that was deleted is a typed error', async () => {
  const fixture = makeSandbox()
  const program = `
    import { mkdirSync, rmdirSync } from 'node:fs'
    import { readFileTool } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
    mkdirSync('gone'); process.chdir('gone'); rmdirSync('../gone')
    console.log(await readFileTool('x').catch((error) => error.name + ' ' + error.code))
  `
  fixture.put('program.mjs', program)
  const { stdout } = await promisify(execFile)(process.execPath, [fixture.at('program.mjs')], { cwd: fixture.root })
  expect(stdout).toMatch(/^ToolError (?:TOOL_ROOT_INVALID|TOOL_FILE_NOT_FOUND)$/mu)
})
