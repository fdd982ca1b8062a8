import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { inspect } from 'node:util'
import { type CallMessage, type CommandMessage, createTools, defineTool, openJournal, type StepMessage } from 'toolwright'
import { createThread, defineTool as defineThreadTool } from 'toolwright/standard-agents'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { noRules, openScene } from '../contract/scene.ts'
import { makeSandbox } from '../support/sandbox.ts'

/** What is published on a channel until the end of the test, by event. */
function listen<T>(channel: string): { event: string; message: T; state: Record<string, unknown> }[] {
  const heard: { event: string; message: T; state: Record<string, unknown> }[] = []
  for (const event of ['start', 'end', 'asyncStart', 'asyncEnd', 'error']) {
    const listener = (message: unknown): void => {
      heard.push({ event, message: message as T, state: { ...(message as object) } })
    }
    subscribe(`tracing:${channel}:${event}`, listener)
    onTestFinished(() => void unsubscribe(`tracing:${channel}:${event}`, listener))
  }
  return heard
}

const eventsOf = (heard: { event: string }[]): string[] => heard.map(({ event }) => event)

describe('toolwright:call', () => {
  test('a call of a tool set begins with what it is, and ends with what came of it', async () => {
    const { root, outside } = makeSandbox()
    const journal = await openJournal(`file:${outside}/runs.db`)
    onTestFinished(() => journal.close())
    const heard = listen<CallMessage>('toolwright:call')
    const { bash } = createTools({ rootDir: root, journal, runId: 'r1', nodeId: 'n1' })
    await bash.execute({ cmd: 'echo', args: ['hello'] }, { toolCallId: 'c1' })
    expect(eventsOf(heard)).toEqual(['start', 'end', 'asyncStart', 'asyncEnd'])
    expect(heard[0]?.state).toMatchObject({
      door: 'toolkit',
      tool: 'bash',
      toolCallId: 'c1',
      sideEffect: true,
      idempotent: false,
      output: undefined,
    })
    const { state, message } = heard.at(-1)!
    expect(state).toMatchObject({ runId: 'r1', nodeId: 'n1', seq: 1, rootDir: root, acted: true, code: undefined })
    expect(message.output).toEqual({ bytes: 6, exitCode: 0, durationMs: expect.any(Number) })
    expect(new Set(heard.map((one) => one.message)).size).toBe(1)
  })

  test('arguments, results and errors are there for who asks, and nowhere else', async () => {
    const heard = listen<CallMessage>('toolwright:call')
    const { root } = makeSandbox()
    const { bash } = createTools({ rootDir: root })
    await bash.execute({ cmd: 'echo', args: ['hello'] })
    await bash.execute({ cmd: 'sh', args: ['-c', 'echo hello; exit 3'] }).catch(() => undefined)
    const [first, second] = heard.filter(({ event }) => event === 'asyncEnd').map(({ message }) => message)
    expect([first?.input, first?.result]).toEqual([{ cmd: 'echo', args: ['hello'] }, 'hello\n'])
    expect(String(second?.error)).toContain('hello')
    expect(second).toMatchObject({ code: 'TOOL_COMMAND_FAILED', acted: true, output: { exitCode: 3, bytes: 6 } })
    for (const message of [first, second]) {
      for (const shown of [
        JSON.stringify(message),
        JSON.stringify({ ...message }),
        inspect(message),
        JSON.stringify(structuredClone({ ...message })),
      ])
        expect(shown).not.toContain('hello')
    }
  })

  test('a failure is told by an event of its own, thrown or not', async () => {
    const heard = listen<CallMessage>('toolwright:call')
    const { read } = createTools({ rootDir: makeSandbox().root })
    await read.execute({ path: '../x' }).catch(() => undefined)
    await read.execute(undefined as never).catch(() => undefined)
    const { call } = await openScene({ ...noRules, headless: true })
    await call('write', { path: 'a.txt', content: 'x' })
    await call('nothing', {})
    const failed = heard.filter(({ event }) => event === 'error').map(({ state }) => [state['door'], state['code'], state['acted']])
    expect(failed).toEqual([
      ['toolkit', 'TOOL_PATH_ESCAPE', false],
      ['toolkit', 'INVALID_INPUT', false],
      ['contract', 'permission_unattended', false],
      ['contract', 'unknown_tool', false],
    ])
  })

  test('a call of a session has its place in the journal, and the id that it got', async () => {
    const heard = listen<CallMessage>('toolwright:call')
    const { session, call, put, root } = await openScene()
    put('a.txt', 'text')
    await call('read', { path: 'a.txt' })
    expect(heard.at(-1)?.state).toMatchObject({
      door: 'contract',
      tool: 'read',
      toolCallId: expect.stringMatching(/./u),
      runId: session.id,
      nodeId: 'contract',
      seq: 1,
      rootDir: root,
      sideEffect: false,
      acted: true,
      output: { truncated: false },
    })
  })

  test('a call of a thread', async () => {
    const heard = listen<CallMessage>('toolwright:call')
    const tools = {
      greet: defineThreadTool({ description: 'Greets', execute: async () => ({ status: 'success' as const, result: 'hello' }) }),
    }
    const thread = await createThread({ tools })
    onTestFinished(() => thread.close())
    await thread.call('greet')
    expect(eventsOf(heard)).toEqual(['start', 'end', 'asyncStart', 'asyncEnd'])
    expect(heard.at(-1)?.state).toMatchObject({ door: 'standard-agents', tool: 'greet', acted: true })
  })

  test('a streaming call that is broken off is a failure', async () => {
    const heard = listen<CallMessage>('toolwright:call')
    const count = defineTool({
      name: 'count',
      schema: z.object({}),
      async *execute() {
        for (let n = 1; ; n += 1) yield n
      },
    })
    for await (const n of count.execute({})) if (n === 3) break
    expect(eventsOf(heard)).toEqual(['start', 'end', 'error', 'asyncStart', 'asyncEnd'])
    expect(heard.at(-1)?.state).toMatchObject({ tool: 'count', code: 'AbortError' })
  })

  test('a listener that throws changes nothing', async () => {
    const failures: unknown[] = []
    const onFailure = (error: unknown): void => void failures.push(error)
    const before = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    process.on('uncaughtException', onFailure)
    const listener = (): void => {
      throw new Error('of the listener')
    }
    subscribe('tracing:toolwright:call:start', listener)
    try {
      const own = defineTool({ name: 'own', schema: z.object({}), execute: () => 'done' })
      expect(await own.execute({})).toBe('done')
      await new Promise((resolve) => setTimeout(resolve, 10))
      expect(failures.map(String)).toEqual(['Error: of the listener'])
    } finally {
      unsubscribe('tracing:toolwright:call:start', listener)
      process.removeListener('uncaughtException', onFailure)
      for (const one of before) process.on('uncaughtException', one)
    }
  })
})

describe('steps', () => {
  test('name their call, if somebody listens to calls', async () => {
    const steps = ['permission', 'command', 'journal', 'search'].map((step) => listen<StepMessage>(`toolwright:${step}`))
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const { call } = await openScene({ ...noRules, journal, host: { prompt: () => 'allow_once' } })
    await call('bash', { command: 'exit 2' })
    expect(steps.flat().every(({ message }) => message.call === undefined)).toBe(true)
    for (const step of steps) step.length = 0
    listen('toolwright:call')
    await call('bash', { command: 'exit 2' })
    await call('grep', { pattern: 'x' })
    const counts = steps.map((step) => step.filter(({ event }) => event === 'asyncEnd').length)
    expect(counts).toEqual([2, 1, 3, 1])
    for (const { message, event } of steps.flat()) {
      expect(message.call?.door).toBe('contract')
      if (event === 'asyncEnd') expect(message.durationMs).toBeGreaterThanOrEqual(0)
    }
    const command = steps[1]?.at(-1)?.message as CommandMessage
    expect(command).toMatchObject({ exitCode: 2, call: { output: { exitCode: 2 } } })
    expect(command.program).toMatch(/^(?:ba)?sh$/u)
  })

  test('a command at its timeout', async () => {
    const heard = listen<CommandMessage>('toolwright:command')
    const { bash } = createTools({ rootDir: makeSandbox().root, toolTimeoutMs: 200 })
    await bash.execute({ cmd: '/bin/sleep', args: ['5'] }).catch(() => undefined)
    expect(heard.at(-1)?.state).toMatchObject({ program: 'sleep', timedOut: true, code: 'PROCESS_TIMEOUT' })
  })
})
