import { asSchema, type FlexibleSchema } from 'ai'
import { openJournal } from 'toolwright'
import { providerExecutors } from 'toolwright/providers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually, expectGone, running, sleepingMark } from '../support/processes.ts'
import { makeSandbox } from '../support/sandbox.ts'

function makePair(options: Parameters<typeof providerExecutors>[0] = {}) {
  const fixture = makeSandbox()
  const executors = providerExecutors({ rootDir: fixture.root, ...options })
  onTestFinished(() => executors.close())
  const { exec_command, write_stdin } = executors.codex
  return { ...fixture, executors, tools: executors.codex, exec: exec_command.execute, write: write_stdin.execute }
}

/** An answer without what differs each time. */
const steady = (answer: string): string => answer.replace(/^Chunk ID: [0-9a-f]{6}\nWall time: \d+\.\d{4} seconds\n/u, '')
const outputOf = (answer: string): string => answer.slice(answer.indexOf('Output:\n') + 'Output:\n'.length)

describe('exec_command and write_stdin', () => {
  test('R14 a command that ends is an answer, in the words of Codex', async () => {
    const { exec } = makePair()
    expect(steady(await exec({ cmd: 'echo one; echo two >&2; exit 3' }))).toBe(
      'Process exited with code 3\nOriginal token count: 2\nOutput:\none\ntwo\n',
    )
    expect(await exec({ cmd: 'true' })).toMatch(
      /^Chunk ID: [0-9a-f]{6}\nWall time: 0\.\d{4} seconds\nProcess exited with code 0\nOriginal token count: 0\nOutput:\n$/u,
    )
    expect(outputOf(await exec({ cmd: 'pwd', workdir: '.', login: true, shell: '/bin/bash' }))).toMatch(/\n$/u)
  })

  test('R14 one that goes on has a numeric session, which is polled and typed into', async () => {
    const { exec, write } = makePair()
    const started = await exec({ cmd: 'read -p "name? " name; echo "hello $name"; sleep 60', tty: true, yield_time_ms: 20_000 })
    expect(steady(started)).toBe(
      'Process running with session ID 1\nOriginal token count: 2\nNote: The process waits for input.\nOutput:\nname? ',
    )
    expect(outputOf(await write({ session_id: 1, chars: 'Ada\n', yield_time_ms: 1_000 }))).toContain('hello Ada')
    const interrupted = await write({ session_id: 1, chars: '\u0003', yield_time_ms: 20_000 })
    expect(interrupted).toMatch(/Process exited with code (?:130|unknown)/u)
    await expect(write({ session_id: 99 })).rejects.toThrow('Start the command again with exec_command.')
  })

  test('R14 without a terminal there is no input, and an interrupt is a signal', async () => {
    const { exec, write } = makePair()
    expect(outputOf(await exec({ cmd: 'cat; echo over' }))).toBe('over\n')
    const started = await exec({ cmd: `trap 'echo interrupted; exit 5' INT; while :; do sleep 0.05; done`, yield_time_ms: 250 })
    expect(started).toContain('running with session ID 2')
    await expect(write({ session_id: 2, chars: 'x' })).rejects.toThrow('tty: true')
    expect(steady(await write({ session_id: 2, chars: '\u0003', yield_time_ms: 20_000 }))).toBe(
      'Process exited with code 5\nOriginal token count: 3\nOutput:\ninterrupted\n',
    )
  })

  test('R14 a poll waits for the end, and a long output has its beginning and its end', async () => {
    const { exec, write } = makePair()
    await exec({ cmd: 'sleep 0.4; seq 1 300000', yield_time_ms: 250 })
    const polled = await write({ session_id: 1, max_output_tokens: 100, yield_time_ms: 20_000 })
    const whole = Array.from({ length: 300_000 }, (_, n) => `${n + 1}\n`).join('')
    expect(polled).toContain(`Process exited with code 0\nOriginal token count: ${Math.ceil(whole.length / 4)}\n`)
    const [head = '', tail = ''] = outputOf(polled).split(/…\d+ tokens truncated…/u)
    expect(head).toBe(whole.slice(0, 200))
    expect(tail).toBe(whole.slice(-200))
    expect(outputOf(await write({ session_id: 1, yield_time_ms: 1 }))).toBe('')
  })

  test('R14 what would leave the sandbox is refused, and arguments that make no sense', async () => {
    const { exec, write } = makePair()
    const refused: [object, RegExp][] = [
      [{ cmd: 'true', sandbox_permissions: 'require_escalated', justification: 'please' }, /sandbox_permissions cannot be/u],
      [{ cmd: ' ' }, /cmd must be a command/u],
      [{ cmd: 7 }, /cmd must be a string/u],
      [{ cmd: 'true', shell: 'a\0b' }, /shell must be a path/u],
      [{ cmd: 'true', yield_time_ms: 'long' }, /yield_time_ms/u],
      [{ cmd: 'true', max_output_tokens: -1 }, /max_output_tokens/u],
      [{ cmd: 'true', workdir: '/etc' }, /TOOL_PATH_ESCAPE/u],
      [{ cmd: 'npm install x' }, /TOOL_NETWORK_DISABLED/u],
    ]
    for (const [input, message] of refused) await expect(exec(input as never)).rejects.toThrow(message)
    await expect(write({ session_id: 1.5 })).rejects.toThrow('session_id')
    await expect(write({ session_id: 1, chars: 7 as never })).rejects.toThrow('chars')
  })

  test('R14 sessions end with their run and with the executors; calls and processes have rows', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const { executors, exec } = makePair({ journal, runId: 'run' })
    const [aborted, closed] = [sleepingMark(), sleepingMark()]
    const run = new AbortController()
    await exec({ cmd: `(setsid sleep ${aborted} &); sleep ${aborted}`, yield_time_ms: 250 }, { abortSignal: run.signal })
    await exec({ cmd: `trap '' TERM INT; (sleep ${closed} &) ; sleep ${closed}`, tty: true, yield_time_ms: 250 })
    expect(await eventually(() => running(aborted).length === 2 && running(closed).length === 2)).toBe(true)
    run.abort()
    await expectGone(aborted)
    await executors.close()
    await expectGone(closed)
    await journal.flush()
    const rows = (await journal.listRun('run')).map(({ nodeId, toolName, status }) => `${nodeId} ${toolName} ${status}`)
    expect(rows.sort()).toEqual([
      'agent exec_command success',
      'agent exec_command success',
      'agent/processes process success',
      'agent/processes process success',
    ])
  })

  test('R14 a model is told of the documented parameters', async () => {
    const { tools } = makePair()
    for (const tool of Object.values(tools)) {
      const { jsonSchema } = asSchema(tool.inputSchema as FlexibleSchema)
      expect({ description: tool.description, schema: await jsonSchema }).toMatchSnapshot()
    }
  })
})
