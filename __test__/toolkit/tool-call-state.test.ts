import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { createTools, defineTool, runWithToolContext, type ToolCallRecord } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { queryDatabase } from '../support/query-database.ts'
import { script } from '../support/scripted-model.ts'
import { openTaskScene } from '../support/task-scene.ts'

const tool = defineTool({
  name: 'pay',
  schema: z.object({ sum: z.number() }),
  sideEffect: true,
  execute: (args, ctx) => `${args.sum} ${ctx.idempotencyKey}`,
})

/** The fields that 001 and 002 name. */
const fields = [
  'runId',
  'nodeId',
  'iteration',
  'attempt',
  'seq',
  'toolName',
  'inputJson',
  'outputJson',
  'startedAtMs',
  'finishedAtMs',
  'status',
  'errorJson',
]

describe('001 Tool call state', () => {
  test('"The defineTool() wrapper itself does not insert a durable row for every call; it attaches metadata, provides ctx.idempotencyKey, and runs the side-effect snapshot hook when a task supplies one."', async () => {
    const touched: PropertyKey[] = []
    const db = new Proxy({}, { get: (_target, name) => void touched.push(name) })
    const snapshots: string[] = []
    const task = { db, runId: 'r', nodeId: 'n', durabilitySnapshot: (name: string) => snapshots.push(name) }
    expect(await runWithToolContext(task, () => tool.execute({ sum: 5 }))).toBe('5 smithers:r:n:0')
    expect(touched).toEqual([])
    expect(snapshots).toEqual(['pay'])
    // "when a task supplies one"
    expect(await runWithToolContext({ runId: 'r', nodeId: 'n' }, () => tool.execute({ sum: 6 }))).toBe('6 smithers:r:n:0')
  })

  test('what a row needs is in the records: seq, toolName, input, output or error, and whether it went well', async () => {
    const records: ToolCallRecord[] = []
    await runWithToolContext({ recordToolCall: (record) => records.push(record) }, () => tool.execute({ sum: 1 }))
    expect(records).toMatchObject([
      { seq: 1, toolName: 'pay', input: { sum: 1 }, effectStatus: 'intended' },
      { seq: 1, toolName: 'pay', output: '1 null', effectStatus: 'succeeded' },
    ])
  })

  test('"Smithers creates the _smithers_tool_calls table and exposes adapter methods to insert and list rows."', async () => {
    const { file, journal } = await openTaskScene()
    const key = { runId: 'run', nodeId: 'node', iteration: 2, attempt: 3 }
    const ref = await journal.insertToolCall({ ...key, seq: 1, toolName: 'pay', inputJson: '{"sum":5}', sideEffect: true })
    await journal.updateToolCall(ref, { status: 'success', outputJson: '"paid"' })
    await journal.insertToolCall({ ...key, seq: 2, toolName: 'read', inputJson: '{}', status: 'success' })
    expect(await journal.listToolCalls('run', 'node', 2)).toMatchObject([
      { ...key, seq: 1, toolName: 'pay', inputJson: '{"sum":5}', outputJson: '"paid"', status: 'success' },
      { ...key, seq: 2, toolName: 'read' },
    ])
    await journal.close()
    const columns = (await queryDatabase(file, 'PRAGMA table_info(_smithers_tool_calls)')).map(({ name }) => name)
    // The fields of the table, in the names of a database.
    for (const field of fields) expect(columns).toContain(field.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`))
    expect(await queryDatabase(file, 'SELECT run_id, seq, status FROM _smithers_tool_calls ORDER BY seq')).toEqual([
      { run_id: 'run', seq: 1, status: 'success' },
      { run_id: 'run', seq: 2, status: 'success' },
    ])
  })

  test('002 "Every invocation is logged to _smithers_tool_calls", each with every field of the table', async () => {
    const { fixture, journal, run } = await openTaskScene()
    const { read, write, edit, grep, bash } = createTools()
    const before = Date.now()
    await run(async () => {
      await write.execute({ path: 'a', content: 'one\n' })
      await edit.execute({ path: 'a', patch: '@@ -1 +1 @@\n-one\n+two\n' })
      await read.execute({ path: 'a' })
      await grep.execute({ pattern: 'two' })
      await bash.execute({ cmd: 'true' })
      await tool.execute({ sum: 5 })
      await bash.execute({ cmd: 'false' }).catch(() => undefined)
    })
    expect(fixture.text('a')).toBe('two\n')
    const rows = await journal.listToolCalls('run', 'node', 0)
    expect(rows.map((row) => row.toolName)).toEqual(['write', 'edit', 'read', 'grep', 'bash', 'pay', 'bash'])
    for (const [index, row] of rows.entries()) {
      expect(Object.keys(row)).toEqual(expect.arrayContaining(fields))
      expect(row).toMatchObject({ runId: 'run', nodeId: 'node', iteration: 0, attempt: 1, seq: index + 1 })
      expect(row.startedAtMs).toBeGreaterThanOrEqual(before)
      expect(row.finishedAtMs).toBeGreaterThanOrEqual(row.startedAtMs)
      expect(JSON.parse(row.inputJson ?? '')).toBeTypeOf('object')
      // "status: "success" or "error"", "errorJson: Error details (if "error")"
      const failed = index === 6
      expect(row.status).toBe(failed ? 'error' : 'success')
      expect([row.errorJson === null, row.outputJson === null]).toEqual([!failed, failed])
    }
  })

  test('"outputJson: Serialized output (truncated if over limit)"', async () => {
    const { fixture, journal, run } = await openTaskScene({ maxOutputBytes: 1_000 })
    fixture.put('short', 'x'.repeat(900))
    fixture.put('long', 'x'.repeat(2_000))
    const { read } = createTools()
    await run(async () => {
      await read.execute({ path: 'short' })
      expect(await read.execute({ path: 'long' })).toHaveLength(2_000)
    })
    const [short, long] = await journal.listToolCalls('run', 'node', 0)
    expect(short).toMatchObject({ outputJson: JSON.stringify('x'.repeat(900)), isCut: false })
    expect(long?.outputJson?.length).toBeLessThanOrEqual(1_000)
    expect(long).toMatchObject({ outputBytes: 2_002, isCut: true })
  })

  test('"Logs content hash (SHA-256) and byte size; full content is not stored." "Logs patch hash and byte size."', async () => {
    const { file, journal, run } = await openTaskScene()
    const { write, edit } = createTools()
    const patch = '@@ -1 +1 @@\n-secret\n+other\n'
    await run(async () => {
      await write.execute({ path: 'a', content: 'secret\n' })
      await edit.execute({ path: 'a', patch })
    })
    const hash = (text: string): string => createHash('sha256').update(text).digest('hex')
    expect((await journal.listToolCalls('run', 'node', 0)).map((row) => JSON.parse(row.inputJson ?? '') as unknown)).toEqual([
      { path: 'a', contentBytes: 7, contentHash: hash('secret\n') },
      { path: 'a', patchBytes: patch.length, patchHash: hash(patch) },
    ])
    await journal.close()
    expect(readFileSync(file, 'latin1')).not.toContain('secret')
  })

  test('"durable rows come from runtime paths that call the Smithers DB adapter"', async () => {
    const { journal, run } = await openTaskScene()
    await tool.execute({ sum: 1 })
    expect(await journal.listRuns()).toEqual([])
    await run(() => tool.execute({ sum: 2 }))
    expect(await journal.listRuns()).toHaveLength(1)
  })
})

describe('000 defineTool, 001 Side Effects: retries', () => {
  const kinds = {
    look: { sideEffect: false, idempotent: true },
    put: { sideEffect: true, idempotent: true },
    send: { sideEffect: true, idempotent: false },
  }
  const keys: (string | null)[] = []
  const made = Object.entries(kinds).map(([name, kind]) =>
    defineTool({ name, schema: z.object({}), ...kind, execute: (_args, ctx) => void keys.push(ctx.idempotencyKey) }),
  )

  test('"On retry, Smithers injects a warning listing the tool as already called so the agent can verify external state before calling again."', async () => {
    const { run } = await openTaskScene()
    await run(async () => {
      for (const one of made) await one.execute({})
      throw new Error('the process was interrupted')
    }).catch(() => undefined)
    await run((task) => {
      const prompt = task.prompt('Go on.')
      expect(prompt).toMatch(
        /Previous attempts in this task already ran non-idempotent side effects\..*Verify external state first.*\n\nGo on\.$/su,
      )
      // "Pure read. No warnings." "Mutates, but replay-safe. No warnings."
      expect(prompt.match(/^- .*$/gmu)).toEqual(['- tool send (attempt 1, seq 3, status succeeded)'])
    })
  })

  test('"The retry prompt lists which non-idempotent tools were already called."; an agent sees it once', async () => {
    const { run } = await openTaskScene()
    const { write } = createTools()
    await run(() => write.execute({ path: 'a', content: '' }))
    await run(async (task) => {
      const model = new MockLanguageModelV4({ doGenerate: script([{ tool: 'write', input: { path: 'a', content: 'x' } }], 'done') })
      await new ToolLoopAgent({ model, tools: { write } }).generate({ prompt: task.prompt('Go on.') })
      const seen = JSON.stringify(model.doGenerateCalls.at(-1)?.prompt)
      expect(seen.split('tool write (attempt 1, seq 1, status succeeded)')).toHaveLength(2)
    })
  })

  test('"when a previous attempt has a recorded _smithers_tool_calls row": a row that another process wrote counts', async () => {
    const { journal, run } = await openTaskScene()
    await journal.insertToolCall({
      runId: 'run',
      nodeId: 'node',
      attempt: 1,
      seq: 1,
      toolName: 'email.send',
      sideEffect: true,
      idempotent: false,
    })
    await run((task) => {
      expect(task.attempt).toBe(2)
      expect(task.warning).toContain('- tool email.send (attempt 1, seq 1, status intended)')
    })
  })

  test('"Without it, Smithers treats the tool as a pure read and replays it freely"', async () => {
    const { run } = await openTaskScene()
    const undeclared = defineTool({ name: 'undeclared', schema: z.object({}), execute: () => 'sent' })
    await run(() => undeclared.execute({}))
    await run((task) => expect(task.prompt('Go on.')).toBe('Go on.'))
  })

  test('"All three built-in mutating tools (write, edit, bash) are side-effecting."', async () => {
    const { fixture, run } = await openTaskScene()
    fixture.put('a', 'one\n')
    const { read, grep, write, edit, bash } = createTools()
    await run(async () => {
      await read.execute({ path: 'a' })
      await grep.execute({ pattern: 'one' })
      await edit.execute({ path: 'a', patch: '@@ -1 +1 @@\n-one\n+two\n' })
      await write.execute({ path: 'a', content: '' })
      await bash.execute({ cmd: 'true' })
    })
    await run((task) => expect(task.priorEffects.map((row) => row.toolName)).toEqual(['edit', 'write', 'bash']))
  })

  test('"ctx.idempotencyKey is stable across retries and resumes for the same task iteration", "deterministic for a given task + iteration"', async () => {
    const { run } = await openTaskScene()
    keys.length = 0
    const [, , send] = made
    for (const iteration of [0, 0, 1]) await run(() => send?.execute({}), { iteration })
    expect(keys).toEqual(['smithers:run:node:0', 'smithers:run:node:0', 'smithers:run:node:1'])
  })
})
