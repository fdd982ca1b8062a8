import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { createTools, defineTool, openJournal, runTask, runWithToolContext, type Journal } from 'toolwright'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { startScript } from '../support/child-script.ts'
import { runs, seed } from '../support/randomised.ts'
import { makeSandbox } from '../support/sandbox.ts'

/** Short words over an alphabet in which every delimiter anybody might use is frequent. */
const word = fc.string({ unit: fc.constantFrom('a', 'b', ':', '|', '/', '\0', '"', ',', '0', '{'), minLength: 1, maxLength: 4 })
const taskId = fc.record({ runId: word, nodeId: word, iteration: fc.nat({ max: 2 }) })
const args = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.record({ sum: fc.nat({ max: 2 }) }))
const payment = fc.record({ tool: word, args })
const settings = { seed, numRuns: runs(60) }

let journal: Journal
beforeAll(async () => {
  journal = await openJournal('memory:')
  return () => journal.close()
})

/** The keys that calls of one attempt are given, in their order. */
async function keysOf(
  task: { runId: string; nodeId: string; iteration: number },
  calls: readonly { tool: string; args: unknown }[],
  more: object = {},
): Promise<(string | null)[]> {
  const keys: (string | null)[] = []
  await runTask({ journal, ...task, ...more }, async () => {
    for (const { tool, args: given } of calls) {
      const pay = defineTool({
        name: tool,
        schema: z.any(),
        sideEffect: true,
        execute: (_args, ctx) => void keys.push(ctx.callIdempotencyKey),
      })
      await pay.execute(given)
    }
  })
  return keys
}

/** Values whose keys are in another order mean the same. */
const reordered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reordered)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, item]) => [key, reordered(item)]),
  )
}

describe('ctx.callIdempotencyKey', () => {
  test('is the same in every attempt, whatever order the keys of an object have', async () => {
    await fc.assert(
      fc.asyncProperty(taskId, fc.array(payment, { minLength: 1, maxLength: 5 }), async (task, calls) => {
        const first = await keysOf(task, calls)
        const swapped = calls.map(({ tool, args: given }) => ({ tool, args: reordered(given) }))
        expect(await keysOf(task, swapped)).toEqual(first)
        expect(first.every((key) => /^tw1_[0-9a-f]{64}$/u.test(key ?? ''))).toBe(true)
      }),
      settings,
    )
  })

  test('differs for every call of a task, equal ones too', async () => {
    await fc.assert(
      fc.asyncProperty(taskId, fc.array(payment, { maxLength: 8 }), fc.nat({ max: 3 }), async (task, calls, again) => {
        const all = [...calls, ...calls.slice(0, again)]
        expect(new Set(await keysOf(task, all)).size).toBe(all.length)
      }),
      settings,
    )
  })

  test('differs between tasks, however their ids are cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(taskId, { minLength: 2, maxLength: 6, selector: (id) => JSON.stringify(id) }), async (tasks) => {
        const call = [{ tool: 'pay', args: { sum: 5 } }]
        const keys = []
        for (const task of tasks) keys.push(...(await keysOf(task, call)))
        expect(new Set(keys).size).toBe(tasks.length)
      }),
      settings,
    )
    // The collision of the documented key, which stays as it is documented.
    const collide = [
      { runId: 'a:b', nodeId: 'c' },
      { runId: 'a', nodeId: 'b:c' },
    ]
    const keys = []
    for (const ids of collide) keys.push(...(await keysOf({ ...ids, iteration: 0 }, [{ tool: 'pay', args: {} }])))
    expect(new Set(keys).size).toBe(2)
  })

  // In UTF-8 both would be the replacement character, and two runs one.
  test.each([{ runId: 'run \ud800' }, { nodeId: '\udc00' }])('ids of half a surrogate pair are refused: %j', async (half) => {
    const task = { journal, runId: 'run', nodeId: 'node', ...half }
    const execute = vi.fn()
    await expect(runTask(task, execute)).rejects.toMatchObject({ code: 'INVALID_INPUT', message: expect.stringContaining('well-formed') })
    expect(execute).not.toHaveBeenCalled()
    expect(() => journal.insertToolCall({ ...task, attempt: 1, seq: 1, toolName: 'it' })).toThrow('[INVALID_INPUT]')
  })

  test('an attempt that goes on in another process has none of its keys again, of redacted arguments neither', async () => {
    const file = `file:${makeSandbox().at('runs.db')}`
    const keys: (string | null)[] = []
    const pay = defineTool({
      name: 'pay',
      schema: z.any(),
      sideEffect: true,
      execute: (_args, ctx) => void keys.push(ctx.callIdempotencyKey),
    })
    for (const _ of [1, 2]) {
      await using opened = await openJournal(file, { redactKeys: true })
      await runTask({ journal: opened, runId: 'r', nodeId: 'n', attempt: 1 }, () => pay.execute({ sum: 5, apiKey: 'secret' }))
    }
    expect(new Set(keys).size).toBe(2)
  })

  test('does not depend on what other calls there are', async () => {
    const task = { runId: 'r', nodeId: 'others', iteration: 0 }
    const pay = { tool: 'pay', args: { sum: 5 } }
    const [alone] = await keysOf(task, [pay])
    const among = await keysOf(task, [{ tool: 'x', args: 1 }, { tool: 'pay', args: { sum: 6 } }, pay, { tool: 'pay', args: 0 }])
    expect(among[2]).toBe(alone)
  })

  test('a call that was not made leaves its number to the next', async () => {
    const keys: (string | null)[] = []
    const pay = defineTool({
      name: 'pay',
      schema: z.any(),
      sideEffect: true,
      execute: (_args, ctx) => void keys.push(ctx.callIdempotencyKey),
    })
    const task = { journal, runId: 'r', nodeId: 'aborted', iteration: 0 }
    await runTask(task, () => pay.execute(1))
    await runTask(task, async () => {
      await expect(pay.execute(1, { abortSignal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no')
      await pay.execute(1)
    })
    expect(keys[1]).toBe(keys[0])
  })

  test('is the same in another process and in every release', async () => {
    const fixture = makeSandbox()
    const task = { runId: 'run', nodeId: 'node', iteration: 3 }
    const calls = [1, 2].map(() => ({ tool: 'pay', args: { sum: 5, to: 'tschüß' } }))
    const keys = await keysOf(task, calls)
    const script = fileURLToPath(new URL('keys-process.ts', import.meta.url))
    const { stdout, stderr } = await startScript(script, [fixture.at('../runs.db')]).ended
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual(keys)
    // A change of these breaks every retry that crosses an upgrade.
    expect(keys).toMatchInlineSnapshot(`
      [
        "tw1_1662edc4e7c1847c4aa6af1349bc814375dd78c170615a873989e791cd3bf10e",
        "tw1_f9023fc197852fc3ceda4dd229c06e457688d72bec0fe77ebbed71ab2f3a5db0",
      ]
    `)
  })

  test('a tool that takes no context has no use for one; outside of a task there is none', async () => {
    let key: string | null = 'unset'
    const pay = defineTool({ name: 'pay', schema: z.any(), sideEffect: true, execute: (_args, ctx) => (key = ctx.callIdempotencyKey) })
    await pay.execute({})
    expect(key).toBeNull()
    await runWithToolContext({ runId: 'r' }, () => pay.execute({}))
    expect(key).toBeNull()
    const fixture = makeSandbox()
    await createTools({ rootDir: fixture.root, journal }).write.execute({ path: 'a', content: '' })
  })

  test('in a task of a host without a journal, such as the Smithers engine: as in runTask', async () => {
    const seen: (string | null)[] = []
    const pay = defineTool({
      name: 'pay',
      schema: z.any(),
      sideEffect: true,
      execute: (_args, ctx) => void seen.push(ctx.callIdempotencyKey),
    })
    const task = { runId: 'host', nodeId: 'node', iteration: 1 }
    for (const _ of [1, 2]) {
      await runWithToolContext({ ...task, recordToolCall: () => undefined }, async () => {
        await pay.execute({ sum: 5 })
        await pay.execute({ sum: 5 })
      })
    }
    const inTask = await keysOf(task, [
      { tool: 'pay', args: { sum: 5 } },
      { tool: 'pay', args: { sum: 5 } },
    ])
    expect(seen).toEqual([...inTask, ...inTask])
    expect(new Set(seen).size).toBe(2)
  })
})

describe('ctx.idempotencyKey', () => {
  test('001: "stable across retries and resumes for the same task iteration"; one for all of its calls', async () => {
    const seen: (string | null)[] = []
    const pay = defineTool({ name: 'pay', schema: z.any(), sideEffect: true, execute: (_args, ctx) => void seen.push(ctx.idempotencyKey) })
    for (const _ of [1, 2]) {
      await runTask({ journal, runId: 'r', nodeId: 'n', iteration: 4 }, async () => {
        await pay.execute(1)
        await pay.execute(2)
      })
    }
    expect(seen).toEqual(['smithers:r:n:4', 'smithers:r:n:4', 'smithers:r:n:4', 'smithers:r:n:4'])
  })
})
