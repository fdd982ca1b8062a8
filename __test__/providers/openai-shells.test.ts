import { openJournal, runTask } from 'toolwright'
import { providerExecutors, type ProviderExecutorsOptions, type ShellAction } from 'toolwright/providers'
import { describe, expect, test } from 'vitest'
import { expectGone, sleepingMark } from '../support/processes.ts'
import { makeSandbox } from '../support/sandbox.ts'

function shells(options: ProviderExecutorsOptions = {}) {
  const fixture = makeSandbox()
  const { openai, agents } = providerExecutors({ rootDir: fixture.root, ...options })
  const run = (...commands: string[]) => openai.shell({ action: { commands } })
  return { fixture, ...openai, agents, run, act: (action: ShellAction) => openai.shell({ action }) }
}

describe('shell', () => {
  test('R2: runs commands in order, each with streams and a code of its own', async () => {
    const { run } = shells()
    expect(await run('echo one > file', 'cat file; echo to stderr >&2; exit 3', 'cat file', 'kill -TERM $$')).toEqual({
      output: [
        { stdout: '', stderr: '', outcome: { type: 'exit', exitCode: 0 } },
        { stdout: 'one\n', stderr: 'to stderr\n', outcome: { type: 'exit', exitCode: 3 } },
        { stdout: 'one\n', stderr: '', outcome: { type: 'exit', exitCode: 0 } },
        { stdout: '', stderr: '[The command was killed by SIGTERM.]\n', outcome: { type: 'exit', exitCode: 143 } },
      ],
    })
  })

  test('R2: of two commands the first times out, is killed with its children, and the second runs', async () => {
    const { act } = shells()
    const mark = sleepingMark()
    const began = performance.now()
    const { output } = await act({ commands: [`echo begun; (setsid sleep ${mark} &); sleep ${mark}`, 'echo next'], timeoutMs: 1_500 })
    expect(performance.now() - began).toBeLessThan(3_000)
    expect(output).toEqual([
      { stdout: 'begun\n', stderr: '', outcome: { type: 'timeout' } },
      { stdout: 'next\n', stderr: '', outcome: { type: 'exit', exitCode: 0 } },
    ])
    await expectGone(mark)
  })

  test('R3: a model may ask for a time up to the limit of the host', async () => {
    // The command that may finish has two seconds in hand, for a busy machine.
    const { act } = shells({ toolTimeoutMs: 100, maxTimeoutMs: 2_400 })
    const began = performance.now()
    expect((await act({ commands: ['sleep 5'], timeoutMs: 60_000 })).output[0]?.outcome).toEqual({ type: 'timeout' })
    expect(performance.now() - began).toBeGreaterThan(2_380)
    expect((await act({ commands: ['sleep 0.3'], timeoutMs: 2_300 })).output[0]?.outcome).toEqual({ type: 'exit', exitCode: 0 })
    expect((await act({ commands: ['sleep 5'] })).output[0]?.outcome).toEqual({ type: 'timeout' })
  })

  test.each([0, 1, 10, 100, 1_000, 5_000])('R3: maxOutputLength %i is kept to and echoed', async (maxOutputLength) => {
    const { act } = shells()
    const commands = ['seq 1 2000', 'seq 1 2000 >&2', 'seq 1 2000; seq 1 2000 >&2', 'echo short']
    const answer = await act({ commands, maxOutputLength })
    expect(answer.maxOutputLength).toBe(maxOutputLength)
    for (const { stdout, stderr } of answer.output) expect(stdout.length + stderr.length).toBeLessThanOrEqual(maxOutputLength)
    if (maxOutputLength >= 1_000) {
      const [first, , both] = answer.output
      expect(first?.stdout).toMatch(/^1\n2\n.*left out.*\n2000\n$/su)
      expect(both?.stdout).toMatch(/^1\n/u)
      expect(both?.stderr).toMatch(/2000\n$/u)
    }
  })

  test('a long output keeps its beginning and its end', async () => {
    const { run } = shells({ maxOutputBytes: 2_000 })
    const { output, ...rest } = await run('seq 1 100000')
    expect(rest).toEqual({})
    expect(output[0]?.stdout).toMatch(/^1\n2\n.*\n100000\n$/su)
    expect(output[0]?.stdout.length).toBeLessThanOrEqual(2_000)
  })

  test('a refused command is an outcome, and those behind it run', async () => {
    const { run } = shells()
    const { output } = await run('npm install left-pad', 'echo on')
    expect(output).toMatchSnapshot()
    expect(output[0]?.outcome).toEqual({ type: 'exit', exitCode: 126 })
    expect(output[1]?.stdout).toBe('on\n')
  })

  test.each([
    ['no action', {}],
    ['no commands', { action: {} }],
    ['a command that is no text', { action: { commands: [1] } }],
    ['a NUL byte', { action: { commands: ['a\0b'] } }],
    ['too long a command', { action: { commands: ['x'.repeat(130_000)] } }],
    ['a wrong limit', { action: { commands: ['true'], maxOutputLength: -1 } }],
    ['a wrong time', { action: { commands: ['true'], timeoutMs: 0 } }],
    ['nothing', undefined],
  ])('R1: never throws: %s', async (_name, input) => {
    const answer = await shells().shell(input as { action: ShellAction })
    expect(answer.output).toHaveLength(1)
    expect(answer.output[0]?.outcome).toEqual({ type: 'exit', exitCode: 126 })
    if (!JSON.stringify(input ?? '').includes('-1')) expect(answer.output[0]?.stderr).toContain('[INVALID_INPUT]')
  })

  test('nowhere to run is an outcome too', async () => {
    const { openai } = providerExecutors({ rootDir: '/nowhere/at/all' })
    const { output } = await openai.shell({ action: { commands: ['true'] } })
    expect(output[0]).toMatchObject({ stdout: '', outcome: { type: 'exit', exitCode: 126 } })
    expect(output[0]?.stderr).toContain('[TOOL_ROOT_INVALID]')
  })

  test('R13: an abort kills the command, and answers for all of them', async () => {
    const { shell } = shells()
    const mark = sleepingMark()
    const controller = new AbortController()
    const call = shell({ action: { commands: [`sleep ${mark}`, 'echo never'] } }, { abortSignal: controller.signal })
    setTimeout(() => controller.abort(), 200)
    const aborted = { stdout: '', stderr: 'The call was aborted.', outcome: { type: 'exit', exitCode: 137 } }
    expect(await call).toEqual({ output: [aborted, aborted] })
    await expectGone(mark)
  })

  test('is confined, and the hint names the sandbox', async () => {
    const { fixture, run } = shells()
    const { output } = await run(`echo x > ${fixture.outside}/escaped`)
    expect(output[0]?.outcome).toEqual({ type: 'exit', exitCode: 1 })
    for (const path of ['.git/HEAD', '.git/hooks/sample']) fixture.put(path, 'x')
    const denied = await run('echo x > .git/hooks/pre-commit')
    expect(denied.output[0]?.stderr).toMatch(/\n\[.*sandbox.*\]\n$/isu)
  })

  test('nothing runs of an action with a command that cannot', async () => {
    const { fixture, run } = shells()
    const { output } = await run('touch made', 'a\0b')
    expect(output.map(({ outcome }) => outcome)).toEqual([
      { type: 'exit', exitCode: 126 },
      { type: 'exit', exitCode: 126 },
    ])
    expect(() => fixture.text('made')).toThrow('ENOENT')
  })

  test('what has ended before an abort is answered', async () => {
    const { shell } = shells()
    const controller = new AbortController()
    const call = shell({ action: { commands: ['echo one', 'sleep 20', 'echo never'] } }, { abortSignal: controller.signal })
    setTimeout(() => controller.abort(), 300)
    expect((await call).output.map(({ stdout, outcome }) => [stdout, outcome])).toEqual([
      ['one\n', { type: 'exit', exitCode: 0 }],
      ['', { type: 'exit', exitCode: 137 }],
      ['', { type: 'exit', exitCode: 137 }],
    ])
  })

  test('is the shell of the Agents SDK as well', async () => {
    const { agents } = shells()
    expect(await agents.shell.run({ commands: ['echo hi'], maxOutputLength: 100 })).toEqual({
      output: [{ stdout: 'hi\n', stderr: '', outcome: { type: 'exit', exitCode: 0 } }],
      maxOutputLength: 100,
    })
  })

  test('R13: each call is one row, also one that fails', async () => {
    const journal = await openJournal('memory:')
    const { shell, localShell } = shells({ journal })
    await runTask({ runId: 'run', nodeId: 'node', journal }, async () => {
      await shell({ action: { commands: ['echo a', 'exit 1'] } }, { toolCallId: 'call_1' })
      await shell({ action: { commands: ['a\0'] } })
      await localShell({ action: { type: 'exec', command: ['true'] } })
    })
    const rows = await journal.listToolCalls('run', 'node', 0)
    expect(rows.map(({ toolName, status }) => [toolName, status])).toEqual([
      ['shell', 'success'],
      ['shell', 'error'],
      ['local_shell', 'success'],
    ])
    await journal.close()
  })
})

describe('localShell', () => {
  const exec = (options: ProviderExecutorsOptions = {}) => {
    const { fixture, localShell } = shells(options)
    const run = (command: string[], rest: object = {}) => localShell({ action: { type: 'exec', command, ...rest } })
    return { fixture, localShell, run }
  }

  test('R4: runs a program with arguments that no shell reads', async () => {
    const { run } = exec()
    expect(await run(['printf', '%s\n', '$HOME;', 'a b'])).toEqual({ output: '$HOME;\na b\n' })
  })

  test('R4: takes variables and a directory below the root', async () => {
    const { fixture, run } = exec({ env: { set: { FOO: 'host' } } })
    fixture.put('sub/file', '')
    expect(await run(['sh', '-c', 'echo $FOO; pwd'], { env: { FOO: 'model' }, workingDirectory: 'sub' })).toEqual({
      output: `model\n${fixture.root}/sub\n`,
    })
    expect((await run(['pwd'], { workingDirectory: `${fixture.root}/sub` })).output).toBe(`${fixture.root}/sub\n`)
    expect((await run(['pwd'], { workingDirectory: '..' })).output).toContain('[TOOL_PATH_ESCAPE]')
    expect((await run(['pwd'], { workingDirectory: 'none' })).output).toContain('[TOOL_FILE_NOT_FOUND]')
  })

  test('says how a command ended that did not succeed', async () => {
    const { run } = exec()
    expect(await run(['sh', '-c', 'echo out; echo err >&2; exit 4'])).toEqual({ output: 'out\nerr\n[Exit code 4.]' })
    expect(await run(['sleep', '9'], { timeoutMs: 100 })).toEqual({ output: '[The command was killed after 100 ms.]' })
  })

  test.each([
    ['an empty command', { command: [] }],
    ['another user', { command: ['id'], user: 'root' }],
    ['a variable that cannot be one', { command: ['env'], env: { 'a=b': 'c' } }],
    ['nothing', undefined],
  ])('R1: never throws: %s', async (_name, action) => {
    const { localShell } = exec()
    expect((await localShell({ action } as never)).output).toContain('[INVALID_INPUT]')
  })

  test('a program that is not there is an output', async () => {
    expect((await exec().run(['no-such-program'])).output).toContain('[PROCESS_FAILED]')
  })
})
