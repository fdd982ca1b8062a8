import { mkdirSync } from 'node:fs'
import { asSchema } from 'ai'
import { bash, bashTool } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { eventually, expectGone, running, sleepingMark } from '../../support/processes.ts'
import { expectReadable, refusal } from '../../support/refusal.ts'
import { makeSandbox } from '../../support/sandbox.ts'

describe('000 bash', () => {
  test('"Run an executable with arguments."', async () => {
    const fixture = makeSandbox()
    const call = { cmd: 'printf', args: ['%s-%s\n', 'a', 'b'] }
    expect(await fixture.within(() => bash.execute(call))).toBe('a-b\n')
    expect(await fixture.within(() => bashTool('true'))).toBe('')
  })

  test('"There is no shell parsing: pass arguments via args"', async () => {
    const fixture = makeSandbox()
    const odd = ['$HOME', '*', 'a b', '`id`', '"quoted"', "it's", '', '; exit 1', '> file', '$(pwd)', '\\n']
    const printed = await fixture.within(() => bashTool('printf', ['[%s]', ...odd]))
    expect(printed).toBe(odd.map((text) => `[${text}]`).join(''))
    const error = await refusal(fixture.within(() => bashTool('echo one | cat')))
    expect(error.code).toBe('PROCESS_FAILED')
  })

  test('"for pipes or redirects invoke a shell explicitly, e.g. { cmd: "sh", args: ["-lc", "..."] }"', async () => {
    const fixture = makeSandbox()
    const args = ['-lc', 'printf "b\\na\\n" | sort > sorted; cat sorted']
    expect(await fixture.within(() => bashTool('sh', args))).toBe('a\nb\n')
    expect(fixture.text('sorted')).toBe('a\nb\n')
  })

  test('"Executable name or path."', async () => {
    const fixture = makeSandbox()
    expect(await fixture.within(() => bashTool('/bin/echo', ['x']))).toBe('x\n')
    fixture.put('bin/mine', '#!/bin/sh\necho mine $1\n')
    await fixture.within(() => bashTool('chmod', ['+x', 'bin/mine']))
    expect(await fixture.within(() => bashTool('./bin/mine', ['1']))).toBe('mine 1\n')
    expect(await fixture.within(() => bashTool(fixture.at('bin/mine'), ['2']))).toBe('mine 2\n')
  })

  test('"[cmd] Up to 8,192 characters."', async () => {
    const fixture = makeSandbox()
    const run = (length: number) => refusal(fixture.within(() => bashTool('x'.repeat(length))))
    expect((await run(8192)).code).toBe('PROCESS_FAILED')
    const error = await run(8193)
    expect(error).toMatchObject({ code: 'INVALID_INPUT', details: { maxLength: 8192, length: 8193 } })
    expectReadable(error)
  })

  test('"Arguments. Up to 128 entries"', async () => {
    const fixture = makeSandbox()
    const run = (count: number) => fixture.within(() => bashTool('echo', Array(count).fill('x')))
    expect(await run(128)).toBe(`${Array(128).fill('x').join(' ')}\n`)
    expect((await refusal(run(129))).code).toBe('INVALID_INPUT')
  })

  test('"each up to 8,192 characters", counted in UTF-16 units; "no cap on the sum"', async () => {
    const fixture = makeSandbox()
    const run = (...args: string[]) => fixture.within(() => bashTool('printf', ['%s', ...args]))
    expect(await run('x'.repeat(8192))).toHaveLength(8192)
    expect(await run('€'.repeat(8192))).toHaveLength(8192)
    expect(await run('🎈'.repeat(4096))).toHaveLength(8192)
    for (const long of ['x'.repeat(8193), '🎈'.repeat(4097)]) {
      expect((await refusal(run('ok', long))).code).toBe('INVALID_INPUT')
    }
    expect(await run(...Array<string>(20).fill('y'.repeat(8192)))).toHaveLength(20 * 8192)
  })

  test('"cwd sets the working directory (sandboxed under rootDir). Defaults to rootDir."', async () => {
    const fixture = makeSandbox()
    mkdirSync(fixture.at('sub/dir'), { recursive: true })
    expect(await fixture.within(() => bashTool('pwd'))).toBe(`${fixture.root}\n`)
    expect(await fixture.within(() => bashTool('pwd', [], { cwd: 'sub/dir' }))).toBe(`${fixture.at('sub/dir')}\n`)
    expect(await fixture.within(() => bashTool('pwd', [], { cwd: fixture.at('sub') }))).toBe(`${fixture.at('sub')}\n`)
    for (const cwd of ['..', '/', fixture.outside, 'sub/../..']) {
      expect((await refusal(fixture.within(() => bashTool('pwd', [], { cwd })))).code, cwd).toBe('TOOL_PATH_ESCAPE')
    }
  })

  test('"[output truncated to] maxOutputBytes": head and tail around a line that says how many bytes were left out', async () => {
    const fixture = makeSandbox()
    const loop = 'i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done'
    const printed = await fixture.within(() => bashTool('sh', ['-c', loop]), { maxOutputBytes: 2048 })
    expect(Buffer.byteLength(printed)).toBeLessThanOrEqual(2048)
    expect(printed).toMatch(/^line 0\nline 1\n/u)
    expect(printed).toMatch(/line 2999\n$/u)
    const total = Array.from({ length: 3000 }, (_, index) => `line ${index}\n`).join('').length
    const noteLine = printed.split('\n').find((line) => /\d/u.test(line) && !/^line \d+$/u.test(line) && /bytes/u.test(line))
    const leftOut = Number(/([\d,]+) bytes/u.exec(noteLine ?? '')?.[1]?.replaceAll(',', ''))
    const shownLength = printed.length - (noteLine?.length ?? 0)
    expect(Math.abs(leftOut + shownLength - total)).toBeLessThanOrEqual(2)
  })

  test('the limit cuts on a UTF-8 boundary, plainly under 1,024 bytes, and nothing after the cut is appended', async () => {
    const fixture = makeSandbox()
    const run = (maxOutputBytes: number) =>
      fixture.within(() => bashTool('sh', ['-c', 'printf 😀😀; sleep 0.05; printf ab']), { maxOutputBytes })
    expect(await run(6)).toBe('😀')
    expect(await run(8)).toBe('😀😀')
    expect(await run(9)).toBe('😀😀a')
    expect(await run(10)).toBe('😀😀ab')
    expect(await run(1)).toBe('')
  })

  test('"A non-zero exit code throws TOOL_COMMAND_FAILED."', async () => {
    const fixture = makeSandbox()
    for (const code of [1, 2, 127, 255]) {
      const error = await refusal(fixture.within(() => bashTool('sh', ['-c', `echo out; echo err >&2; exit ${code}`])))
      expect(error).toMatchObject({
        code: 'TOOL_COMMAND_FAILED',
        summary: `Command failed with exit code ${code}`,
        details: { cmd: 'sh', output: 'out\nerr\n', exitCode: code },
      })
      expectReadable(error)
      expect(error.message).toContain('out\nerr')
    }
  })

  test('"The process is killed with SIGKILL after ctx.timeoutMs"; what it printed until then is not lost', async () => {
    const fixture = makeSandbox()
    const mark = sleepingMark()
    const command = `trap "" TERM INT HUP; echo started; while :; do sleep ${mark}; done`
    const start = performance.now()
    const error = await refusal(fixture.within(() => bashTool('sh', ['-c', command]), { timeoutMs: 1_500 }))
    expect(performance.now() - start).toBeGreaterThanOrEqual(1_490)
    expect(error).toMatchObject({
      code: 'PROCESS_TIMEOUT',
      summary: 'Command timed out after 1500ms',
      details: { command: 'sh', cwd: fixture.root, timeoutMs: 1_500, output: 'started\n' },
    })
    expectReadable(error)
    await expectGone(mark)
  })

  test('"(default 60s; the hard cap is one hour)"', async () => {
    const fixture = makeSandbox()
    expect(await fixture.within(() => bashTool('echo', ['x']), { timeoutMs: 3_600_000 })).toBe('x\n')
    expect(await refusal(fixture.within(() => bashTool('echo', ['x']), { timeoutMs: 3_600_001 }))).toMatchObject({
      code: 'INVALID_INPUT',
      details: { timeoutMs: 3_600_001, maxAllowed: 3_600_000 },
    })
  })
})

describe('001 bash', () => {
  test('"{ cmd: string, args?: string[], opts?: { cwd?: string } }": the schema', async () => {
    const schema = await asSchema(bash.inputSchema).jsonSchema
    expect(schema).toMatchObject({
      properties: {
        cmd: { type: 'string' },
        args: { type: 'array', items: { type: 'string' } },
        opts: { type: 'object', properties: { cwd: { type: 'string' } } },
      },
      required: ['cmd'],
      additionalProperties: false,
    })
    expect(Object.keys(schema.properties ?? {})).toEqual(['cmd', 'args', 'opts'])
  })

  test('"Returns combined stdout and stderr.": in the order of arrival', async () => {
    const fixture = makeSandbox()
    const command = 'echo 1; echo 2 >&2; echo 3; echo 4 >&2; echo 5'
    expect(await fixture.within(() => bashTool('sh', ['-c', command]))).toBe('1\n2\n3\n4\n5\n')
  })

  test('"Timeout: 60s (killed with SIGKILL via process group).": children die too', async () => {
    const fixture = makeSandbox()
    const [child, grandchild] = [sleepingMark(), sleepingMark()]
    const command = `sleep ${child} & sh -c "sleep ${grandchild} & wait"`
    const ended = refusal(fixture.within(() => bashTool('sh', ['-c', command]), { timeoutMs: 2_000 }))
    expect(await eventually(() => running(child).length > 0 && running(grandchild).length > 0, 1_900)).toBe(true)
    await ended
    for (const mark of [child, grandchild]) await expectGone(mark)
  })

  test('"Non-zero exit codes throw.": and so does death by a signal, which is named', async () => {
    const fixture = makeSandbox()
    const error = await refusal(fixture.within(() => bashTool('sh', ['-c', 'echo x; kill -SEGV $$'])))
    expect(error).toMatchObject({ code: 'TOOL_COMMAND_FAILED', details: { signal: 'SIGSEGV', output: 'x\n' } })
    expect(error.message).toContain('SIGSEGV')
  })
})
