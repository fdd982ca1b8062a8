import { renameSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  defineTool,
  getToolContext,
  getToolIdempotencyKey,
  nextToolSeq,
  read,
  runWithToolContext,
  type ToolCallRecord,
  type ToolContext,
} from 'toolwright/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { makeSandbox } from '../support/sandbox.ts'

const probe = defineTool({ name: 'probe', schema: z.object({}), execute: (_args, ctx) => ctx })

describe('001 exports: "Inspect or provide the task-local tool runtime context."', () => {
  test('outside of any task there is no context', () => {
    expect(getToolContext()).toBeUndefined()
  })

  test('inside, the context is the very object that was provided, through awaits, timers and callbacks', async () => {
    const context: ToolContext = { runId: 'r' }
    await runWithToolContext(context, async () => {
      expect(getToolContext()).toBe(context)
      await sleep(1)
      expect(getToolContext()).toBe(context)
      await new Promise<void>((resolve) => {
        setTimeout(() => {
          expect(getToolContext()).toBe(context)
          queueMicrotask(() => {
            expect(getToolContext()).toBe(context)
            resolve()
          })
        }, 1)
      })
    })
    expect(getToolContext()).toBeUndefined()
  })

  test('the context is still there after a native call', async () => {
    const fixture = makeSandbox()
    fixture.put('a', 'x')
    const context = { rootDir: fixture.root }
    await runWithToolContext(context, async () => {
      await read.execute({ path: 'a' })
      expect(getToolContext()).toBe(context)
    })
  })

  test('contexts of one directory share its identity, and one that takes its place is that of the next context', async () => {
    const fixture = makeSandbox()
    fixture.put('a', 'first')
    const old = { rootDir: fixture.root }
    const readWithin = (context: ToolContext) => runWithToolContext(context, () => read.execute({ path: 'a' }))
    expect(await readWithin(old)).toBe('first')
    expect(await readWithin({ rootDir: fixture.root })).toBe('first')
    renameSync(fixture.root, `${fixture.root}-moved`)
    fixture.put('a', 'second')
    expect(await readWithin({ rootDir: fixture.root })).toBe('second')
    await expect(readWithin(old)).rejects.toMatchObject({ code: 'TOOL_ROOT_CHANGED' })
  })

  test('contexts nest, and the outer one comes back', () => {
    const seen: unknown[] = []
    runWithToolContext({ runId: 'outer' }, () => {
      runWithToolContext({ runId: 'inner' }, () => seen.push(getToolContext()?.runId))
      seen.push(getToolContext()?.runId)
    })
    expect(seen).toEqual(['inner', 'outer'])
  })

  test('tasks that run at the same time see only their own', async () => {
    const boxes = [makeSandbox(), makeSandbox(), makeSandbox()]
    for (const [index, fixture] of boxes.entries()) fixture.put('who.txt', `task ${index}`)
    const texts = await Promise.all(
      boxes.map((fixture) =>
        fixture.within(async () => {
          await sleep(Math.random() * 5)
          return read.execute({ path: 'who.txt' })
        }),
      ),
    )
    expect(texts).toEqual(['task 0', 'task 1', 'task 2'])
  })

  test('runWithToolContext gives what fn returns, and throws what it throws', async () => {
    expect(runWithToolContext({}, () => 5)).toBe(5)
    expect(await runWithToolContext({}, async () => 6)).toBe(6)
    expect(() =>
      runWithToolContext({}, () => {
        throw new RangeError('mine')
      }),
    ).toThrow(RangeError)
  })
})

describe('001 exports: "Build stable idempotency keys and task-local tool-call sequence numbers."', () => {
  test('the key is deterministic for a given task + iteration (001 Side Effects)', () => {
    const task = { runId: 'r', nodeId: 'n', iteration: 4 }
    expect(getToolIdempotencyKey({ ...task, attempt: 1 })).toBe('smithers:r:n:4')
    expect(getToolIdempotencyKey({ ...task, attempt: 9, seq: 5 })).toBe('smithers:r:n:4')
    expect(getToolIdempotencyKey({ ...task, iteration: 5 })).not.toBe('smithers:r:n:4')
  })

  test('without an argument the key is that of the current context', () => {
    expect(getToolIdempotencyKey()).toBeNull()
    const task = { runId: 'r', nodeId: 'n' }
    expect(runWithToolContext(task, () => getToolIdempotencyKey())).toBe('smithers:r:n:0')
  })

  test('001 Tool call state: "seq: Sequential call counter within the task"', async () => {
    const records: ToolCallRecord[] = []
    const task = (): ToolContext => ({ recordToolCall: (record) => void records.push(record) })
    await runWithToolContext(task(), async () => {
      await probe.execute({})
      await Promise.all([probe.execute({}), probe.execute({})])
      await probe.execute({})
    })
    const started = records.filter(({ phase }) => phase === 'started').map(({ seq }) => seq)
    expect(started).toEqual([1, 2, 3, 4])
    records.length = 0
    await runWithToolContext(task(), () => probe.execute({}))
    expect(records[0]?.seq).toBe(1)
  })

  test('nextToolSeq counts in the context it is given', () => {
    const context: ToolContext = {}
    expect([nextToolSeq(context), nextToolSeq(context), context.seq]).toEqual([1, 2, 2])
    expect(nextToolSeq({ seq: 41 })).toBe(42)
  })
})

describe('000/001 the context that execute receives', () => {
  test('001 Tool call state names runId, nodeId, iteration, attempt, seq: all of them are there', async () => {
    const task = { runId: 'r', nodeId: 'n', iteration: 1, attempt: 2, seq: 3 }
    expect(await runWithToolContext({ ...task }, () => probe.execute({}))).toMatchObject(task)
  })

  test('000 Tools: "ctx.rootDir (the workflow directory by default)", "ctx.maxOutputBytes (200KB)", "ctx.timeoutMs (default 60s)", network blocked', async () => {
    expect(await probe.execute({})).toMatchObject({
      rootDir: process.cwd(),
      maxOutputBytes: 200_000,
      timeoutMs: 60_000,
      allowNetwork: false,
    })
  })

  test('what a host adds to its context reaches execute', async () => {
    const db = { query: () => 1 }
    const context = { db, emitEvent: () => undefined, custom: 'x' } as ToolContext
    expect(await runWithToolContext(context, () => probe.execute({}))).toMatchObject({ db, custom: 'x' })
  })
})
