import { defineTool, runWithToolContext, type ToolCallRecord } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const tool = defineTool({
  name: 'pay',
  schema: z.object({ sum: z.number() }),
  sideEffect: true,
  execute: (args, ctx) => `${args.sum} ${ctx.idempotencyKey}`,
})

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
    expect(await runWithToolContext({ runId: 'r', nodeId: 'n' }, () => tool.execute({ sum: 6 }))).toBe(
      '6 smithers:r:n:0',
    )
  })

  test('what a row needs is in the records: seq, toolName, input, output or error, and whether it went well', async () => {
    const records: ToolCallRecord[] = []
    await runWithToolContext({ recordToolCall: (record) => records.push(record) }, () => tool.execute({ sum: 1 }))
    expect(records).toMatchObject([
      { seq: 1, toolName: 'pay', input: { sum: 1 }, effectStatus: 'intended' },
      { seq: 1, toolName: 'pay', output: '1 null', effectStatus: 'succeeded' },
    ])
  })

  test.todo('"creates the _smithers_tool_calls table and exposes adapter methods to insert and list rows"')
  test.todo('"reads that table on retry to build warnings for previously recorded non-idempotent side-effect tool calls"')
  test.todo('"outputJson: Serialized output (truncated if over limit)", "status: "success" or "error""')
})

describe('000 defineTool, 001 Side Effects: retries', () => {
  test.todo('"On retry, Smithers injects a warning listing the tool as already called"')
  test.todo('"The retry prompt lists which non-idempotent tools were already called."')
})
