import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createTools, defineTool, openJournal, type OpenJournalOptions, runTask, runWithToolContext, type ToolCallRecord } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { actedCodes } from '../../ts/core/codes.ts'
import { makeSandbox } from '../support/sandbox.ts'

async function scene(options: OpenJournalOptions = {}) {
  const fixture = makeSandbox()
  fixture.put('a.txt', 'hello')
  const journal = await openJournal(`file:${fixture.at('../runs.db')}`, options)
  onTestFinished(() => journal.close())
  return { fixture, journal }
}

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/u

describe('createTools({ journal }) outside of a task', () => {
  test('a run of its own, node agent, iteration 0, attempt 1, the call id as token, no key', async () => {
    const { fixture, journal } = await scene()
    const { read, write } = createTools({ rootDir: fixture.root, journal })
    await Promise.all([
      read.execute({ path: 'a.txt' }, { toolCallId: 'call-1' }),
      write.execute({ path: 'b.txt', content: 'x' }, { toolCallId: 'call-2' }),
    ])
    const [run, ...others] = await journal.listRuns()
    expect(others).toEqual([])
    expect(run?.runId).toMatch(uuid7)
    expect(await journal.listToolCalls(run?.runId ?? '', 'agent', 0)).toMatchObject([
      { attempt: 1, seq: 1, toolName: 'read', callToken: 'call-1', idempotencyKey: null, status: 'success' },
      { attempt: 1, seq: 2, toolName: 'write', callToken: 'call-2', idempotencyKey: null, status: 'success' },
    ])
  })

  test('two sets of tools are two runs; one set is one run, over any time', async () => {
    const { fixture, journal } = await scene()
    const [one, other] = [createTools({ rootDir: fixture.root, journal }), createTools({ rootDir: fixture.root, journal })]
    await one.read.execute({ path: 'a.txt' })
    await other.read.execute({ path: 'a.txt' })
    await fixture.within(() => one.read.execute({ path: 'a.txt' }))
    const runs = await journal.listRuns()
    expect(runs.map((run) => run.calls).sort()).toEqual([1, 2])
    // They sort by the time they began.
    expect(runs.map((run) => run.runId)).toEqual(runs.map((run) => run.runId).toSorted())
  })

  test('in a context that names its task they are calls of that task', async () => {
    const { fixture, journal } = await scene()
    const { read } = createTools({ rootDir: fixture.root, journal })
    await runWithToolContext({ runId: 'run', nodeId: 'node', iteration: 1, attempt: 2 }, () => read.execute({ path: 'a.txt' }))
    expect(await journal.listToolCalls('run', 'node', 1)).toMatchObject([{ attempt: 2, seq: 1, toolName: 'read' }])
  })

  test('inside runTask the calls belong to the task, in the journal of the task', async () => {
    const { fixture, journal } = await scene()
    const other = await openJournal('memory:')
    onTestFinished(() => other.close())
    const { read } = createTools({ rootDir: fixture.root, journal: other })
    await runTask({ journal, runId: 'run', nodeId: 'node' }, () => read.execute({ path: 'a.txt' }))
    expect(await journal.listToolCalls('run', 'node', 0)).toHaveLength(1)
    expect(await other.listRuns()).toEqual([])
  })

  test('where the host records calls itself, as the Smithers engine does, the journal stays silent', async () => {
    const { fixture, journal } = await scene()
    const { read, write } = createTools({ rootDir: fixture.root, journal })
    const records: ToolCallRecord[] = []
    const context = { runId: 'r', nodeId: 'n', recordToolCall: (record: ToolCallRecord) => void records.push(record) }
    await runWithToolContext(context, () => read.execute({ path: 'a.txt' }))
    await runWithToolContext({ ...context, journal }, () => write.execute({ path: 'b', content: '' }))
    expect(records.map(({ phase, toolName }) => `${toolName} ${phase}`)).toEqual([
      'read started',
      'read finished',
      'write started',
      'write finished',
    ])
    expect(await journal.listRuns()).toEqual([])
  })

  test('what is no journal is refused', () => {
    for (const journal of [{}, 'file:runs.db', null]) {
      expect(() => createTools({ journal: journal as never })).toThrow(/INVALID_INPUT/u)
    }
  })
})

describe('runWithToolContext({ journal })', () => {
  const note = defineTool({ name: 'note', schema: z.object({}), execute: (_args, ctx) => ctx.seq })

  test('calls are recorded under the ids of the context, built-in tools and your own', async () => {
    const { fixture, journal } = await scene()
    const { read } = createTools()
    const context = { journal, runId: 'run', nodeId: 'node', iteration: 3, attempt: 2, rootDir: fixture.root }
    await runWithToolContext(context, async () => {
      await read.execute({ path: 'a.txt' })
      expect(await note.execute({})).toBe(1)
    })
    // A copy of the context is the same task.
    await runWithToolContext({ ...context, rootDir: fixture.outside }, () => note.execute({}))
    expect(await journal.listToolCalls('run', 'node', 3)).toMatchObject([
      { attempt: 2, seq: 1, toolName: 'read' },
      { attempt: 2, seq: 2, toolName: 'note' },
      { attempt: 2, seq: 3, toolName: 'note' },
    ])
  })

  test('without ids they are a run of their own', async () => {
    const { journal } = await scene()
    await runWithToolContext({ journal }, async () => {
      await note.execute({})
      await note.execute({})
    })
    const [run] = await journal.listRuns()
    expect(run).toMatchObject({ runId: expect.stringMatching(uuid7), calls: 2 })
  })
})

describe('what a row holds', () => {
  test('of write and edit size and SHA-256, never the content; also of the Smithers package’s own tools', async () => {
    const { fixture, journal } = await scene()
    const content = 'the content'
    const hash = createHash('sha256').update(content).digest('hex')
    await runTask({ journal, runId: 'run', nodeId: 'node', rootDir: fixture.root }, async () => {
      const { recordToolCall } = (await import('toolwright')).getToolContext() ?? {}
      const entry = {
        seq: 1,
        input: { path: 'x', content },
        kind: 'tool',
        toolName: 'write',
        sideEffect: true,
        idempotent: false,
        acceptsIdempotencyKey: true,
        hasRevert: false,
        idempotencyKey: 'key',
      } as const
      await recordToolCall?.({ ...entry, phase: 'started', effectStatus: 'intended' })
      await recordToolCall?.({ ...entry, phase: 'finished', effectStatus: 'succeeded', output: 'ok' })
      await createTools().write.execute({ path: 'y', content })
    })
    const rows = await journal.listRun('run')
    expect(rows.map(({ seq, status, inputJson }) => [seq, status, JSON.parse(inputJson ?? '')])).toEqual([
      [1, 'success', { path: 'x', contentBytes: 11, contentHash: hash }],
      [2, 'success', { path: 'y', contentBytes: 11, contentHash: hash }],
    ])
    await journal.close()
    expect(readFileSync(fixture.at('../runs.db'), 'latin1')).not.toContain(content)
  })

  test('redactKeys: no values of keys that look like secrets, of your own tools; the key of a call stays the same', async () => {
    const keys: (string | null)[] = []
    const send = defineTool({
      name: 'send',
      schema: z.any(),
      sideEffect: true,
      execute: (_args, ctx) => void keys.push(ctx.callIdempotencyKey),
    })
    const args = { to: 'me', apiKey: 'sk-live', nested: [{ Authorization: 'Bearer x' }], maxTokens: 5 }
    for (const redactKeys of [true, false]) {
      const { journal } = await scene({ redactKeys })
      await runTask({ journal, runId: 'run', nodeId: 'node' }, () => send.execute(args))
      const [row] = await journal.listRun('run')
      expect(JSON.parse(row?.inputJson ?? '')).toEqual(
        redactKeys ? { to: 'me', apiKey: '[redacted]', nested: [{ Authorization: '[redacted]' }], maxTokens: 5 } : args,
      )
    }
    expect(keys[0]).toBe(keys[1])
  })

  test('maxOutputBytes: an output over the limit is cut, framed and still JSON', async () => {
    const { fixture, journal } = await scene({ maxOutputBytes: 120 })
    fixture.put('long', 'é'.repeat(500))
    await runTask({ journal, runId: 'run', nodeId: 'node', rootDir: fixture.root }, () => createTools().read.execute({ path: 'long' }))
    const [row] = await journal.listRun('run')
    expect(Buffer.byteLength(row?.outputJson ?? '')).toBeLessThanOrEqual(120)
    expect(row).toMatchObject({ isCut: true, outputBytes: 1002 })
    expect(JSON.parse(row?.outputJson ?? '')).toMatchObject({ truncated: true, bytes: 1002, preview: expect.stringMatching(/^é+$/u) })
  })

  test.each<[string, unknown, unknown]>([
    ['nothing', undefined, undefined],
    ['null', null, null],
    ['text', 'tschüß 😀', 'tschüß 😀'],
    ['data', { a: [1, { b: null }] }, { a: [1, { b: null }] }],
    ['a date', new Date(0), { inexact: true, value: '1970-01-01T00:00:00.000Z' }],
    ['a map', new Map([[1, 2]]), { inexact: true, value: {} }],
    ['a big integer', { n: 12n }, { inexact: true, value: { n: '12' } }],
    ['no number', Number.NaN, { inexact: true, value: null }],
  ])('an output that is %s', async (_what, output, expected) => {
    const { journal } = await scene()
    const tool = defineTool({ name: 'tool', schema: z.object({}), execute: () => output })
    expect(await runTask({ journal, runId: 'run', nodeId: 'node' }, () => tool.execute({}))).toBe(output)
    const [row] = await journal.listRun('run')
    const stored = row?.outputJson
    expect(stored === null || stored === undefined ? undefined : (JSON.parse(stored) as unknown)).toEqual(expected)
  })

  test('arguments and outputs with cycles are put into words', async () => {
    const { journal } = await scene()
    const cyclic: Record<string, unknown> = { n: 1n, twice: [{ x: 1 }] }
    cyclic['self'] = cyclic
    const tool = defineTool({ name: 'tool', schema: z.any(), execute: () => cyclic })
    await runTask({ journal, runId: 'run', nodeId: 'node' }, () => tool.execute(cyclic))
    const [row] = await journal.listRun('run')
    const words = { n: '1', twice: [{ x: 1 }], self: '[Circular]' }
    expect(JSON.parse(row?.inputJson ?? '')).toEqual(words)
    expect(JSON.parse(row?.outputJson ?? '')).toEqual({ inexact: true, value: words })
  })

  test.each<[string, unknown, object]>([
    [
      'an error',
      Object.assign(new TypeError('bad', { cause: new Error('why') }), { code: 'E_BAD' }),
      { name: 'TypeError', message: 'bad', code: 'E_BAD', cause: { name: 'Error', message: 'why' } },
    ],
    ['a string', 'just text', { name: 'Thrown', message: 'just text' }],
    ['nothing', undefined, { name: 'Thrown', message: 'undefined' }],
  ])('what was thrown: %s', async (_what, thrown, expected) => {
    const { journal } = await scene()
    const tool = defineTool({
      name: 'tool',
      schema: z.object({}),
      execute: () => {
        throw thrown
      },
    })
    await runTask({ journal, runId: 'run', nodeId: 'node' }, async () => {
      await Promise.resolve(tool.execute({})).catch(() => undefined)
    })
    const [row] = await journal.listRun('run')
    expect(row).toMatchObject({ status: 'error', acted: true, outputJson: null })
    expect(JSON.parse(row?.errorJson ?? '')).toEqual(expected)
  })
})

describe('refusals', () => {
  test('codes after which something may have been done are not refusals', () => {
    expect(actedCodes).toEqual([
      'TOOL_EDIT_CONFLICT',
      'TOOL_IO_FAILED',
      'TOOL_COMMAND_FAILED',
      'PROCESS_TIMEOUT',
      'PROCESS_DIED',
      'OUTCOME_UNKNOWN',
      'FORK_FAILED',
      'INTERNAL_ERROR',
    ])
  })

  test('the same code from a tool of your own is no refusal: nobody knows what it did before', async () => {
    const { fixture, journal } = await scene()
    const { bash } = createTools()
    const deploy = defineTool({
      name: 'deploy',
      schema: z.object({}),
      sideEffect: true,
      execute: (_args, _ctx) => bash.execute({ cmd: 'curl', args: ['http://x'] }),
    })
    await runTask({ journal, runId: 'run', nodeId: 'node', rootDir: fixture.root }, () => deploy.execute({}).catch(() => undefined))
    expect(await journal.listRun('run')).toMatchObject([
      { toolName: 'deploy', status: 'error', acted: true },
      { toolName: 'bash', status: 'error', acted: false },
    ])
  })

  test('a timeout of bash is an effect', async () => {
    const { fixture, journal } = await scene()
    const options = { journal, runId: 'run', nodeId: 'node', rootDir: fixture.root, toolTimeoutMs: 200 }
    await runTask(options, () =>
      createTools()
        .bash.execute({ cmd: 'sleep', args: ['20'] })
        .catch(() => undefined),
    )
    expect(await journal.listRun('run')).toMatchObject([{ status: 'error', acted: true }])
  })
})
