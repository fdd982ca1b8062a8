import { createTools, defineTool, openJournal, runTask, runWithToolContext, type ToolCallRecord } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { refusal } from '../support/refusal.ts'
import { makeSandbox } from '../support/sandbox.ts'

const any = (execute: (args: any) => unknown, name = 'tool') =>
  defineTool({ name, schema: z.any(), sideEffect: true, execute: (args: any, _ctx) => execute(args) })

describe('a tool is called with a copy of its arguments', () => {
  test('what the caller does with its object while a recorder answers changes nothing', async () => {
    const args = { to: 'Anna', list: [1] }
    const records: ToolCallRecord[] = []
    const seen: unknown[] = []
    const recordToolCall = async (record: ToolCallRecord): Promise<void> => {
      records.push(structuredClone(record))
      await Promise.resolve()
      args.to = 'Mallory'
      args.list.push(2)
      Object.assign(record.input as object, { to: '[redacted]' })
      if (record.output !== undefined) Object.assign(record.output as object, { result: '[redacted]' })
    }
    const tool = any((given) => (seen.push(structuredClone(given)), { result: 'sent' }))
    const output = await runWithToolContext({ recordToolCall }, () => tool.execute(args))
    expect(seen).toEqual([{ to: 'Anna', list: [1] }])
    expect(records.map(({ input }) => (input as { list: unknown }).list)).toEqual([[1], [1]])
    expect(output).toEqual({ result: 'sent' })
  })

  test('a tool may change its own, which changes neither the caller nor the record', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const records: ToolCallRecord[] = []
    const tool = any((given: { list: number[] }) => (given.list.push(9), given.list.length))
    const args = { list: [1] }
    expect(await runTask({ journal, runId: 'run', nodeId: 'node' }, () => tool.execute(args))).toBe(2)
    expect(args).toEqual({ list: [1] })
    expect((await journal.listRun('run'))[0]).toMatchObject({ inputJson: '{"list":[1]}', outputJson: '2' })
    await runWithToolContext({ recordToolCall: async (record) => void records.push(record) }, () => tool.execute(args))
    expect(records.map(({ input }) => input)).toEqual([{ list: [1] }, { list: [1] }])
  })

  test('what a schema made of the input comes as it is', async () => {
    class Money {
      readonly cents = 1
    }
    const [date, bytes, file, map, money] = [new Date(0), new Uint8Array([1]), new File(['x'], 'a.txt'), new Map([[1, 2]]), new Money()]
    const cycle: Record<string, unknown> = { own: Object.create(null) as object, [Symbol.for('s')]: 1 }
    cycle['self'] = [cycle]
    let got: any
    await any((given) => (got = given)).execute({ date, bytes, file, map, money, cycle, missing: undefined })
    expect([got.date, got.bytes, got.file, got.map, got.money]).toEqual([date, bytes, file, map, money])
    expect([got.date === date, got.bytes === bytes, got.money === money]).toEqual([true, true, true])
    expect(got.cycle).not.toBe(cycle)
    expect(got.cycle.self[0]).toBe(got.cycle)
    expect(got.cycle[Symbol.for('s')]).toBe(1)
    expect(Object.getPrototypeOf(got.cycle.own)).toBe(null)
    expect('missing' in got).toBe(true)
  })

  test.each([undefined, null, 'text', 7, 7n, true])('%s is an input like another', async (value) => {
    let got: unknown = 'nothing'
    await any((given) => (got = given)).execute(value)
    expect(got).toBe(value)
  })
})

describe('arguments are bounded', () => {
  const nested = (levels: number): object => {
    let value: object = {}
    for (let level = 1; level < levels; level += 1) value = [value]
    return value
  }
  const throwing = (): never => {
    throw new Error('trap')
  }

  test.each<[string, () => unknown, RegExp]>([
    ['nested 7,000 deep', () => nested(7_000), /nested more than 100 levels deep/u],
    ['of 100,001 values', () => ({ a: Array(100_001).fill(0) }), /\/a: there are more than 100000 values/u],
    ['an array of holes', () => Object.assign([], { length: 2 ** 32 - 1 }), /more than 100000 values/u],
    [
      'with a getter that throws',
      () => ({
        get a() {
          return throwing()
        },
      }),
      /\/a: it cannot be read: trap/u,
    ],
    ['a proxy that throws', () => new Proxy({}, { ownKeys: throwing }), /it cannot be read: trap/u],
  ])('an input %s is a typed error that says what is too much, and where', async (_what, make, told) => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    let executed = 0
    const tool = any(() => (executed += 1))
    for (const work of [() => tool.execute(make()), () => runTask({ journal, runId: 'run', nodeId: 'node' }, () => tool.execute(make()))]) {
      const error = await refusal(work())
      expect(error.code).toBe('INVALID_INPUT')
      expect(error.message).toMatch(told)
      expect(error.message.length).toBeLessThan(1_000)
    }
    expect(executed).toBe(0)
  })

  test('up to the limit it is taken', async () => {
    let got: unknown
    await any((given) => (got = given)).execute({ a: Array(99_000).fill(0), b: nested(99) })
    expect(got).toMatchObject({ b: [expect.anything()] })
  })
})

describe('a row does not hold what is too large for one, and does not hold the host up', () => {
  /** CPU time of the longest turn, not of the whole. */
  async function longestTurn(work: () => Promise<unknown>): Promise<number> {
    let [max, last, isOver] = [0, performance.now(), false]
    const look = (): void => {
      max = Math.max(max, performance.now() - last)
      last = performance.now()
      if (!isOver) setImmediate(look)
    }
    setImmediate(look)
    await work()
    await new Promise(setImmediate)
    isOver = true
    return max
  }

  test('30 MB of arguments and of output', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const text = 'é'.repeat(15_000_000)
    const tool = any((given: { text: string }) => ({ echo: given.text, n: 1 }))
    let output: unknown
    const held = await longestTurn(async () => {
      output = await runTask({ journal, runId: 'run', nodeId: 'node' }, () => tool.execute({ text }))
    })
    expect(output).toEqual({ echo: text, n: 1 })
    const [row] = await journal.listRun('run')
    const large = { bytes: expect.any(Number), sha256: expect.stringMatching(/^[0-9a-f]{64}$/u), left_out: expect.any(String) }
    expect(JSON.parse(row?.inputJson ?? '')).toEqual(large)
    expect(JSON.parse(row?.inputJson ?? '').bytes).toBeGreaterThan(30_000_000)
    expect(JSON.parse(row?.outputJson ?? '')).toEqual({ inexact: true, ...large })
    expect(row?.status).toBe('success')
    // Measured: 9 ms in Node, 14 ms in Bun; in one go it takes 700 ms and more.
    expect(held).toBeLessThan(350)
  })

  test.each<[string, () => unknown]>([
    ['bytes', () => new Uint8Array(10_000_000)],
    ['many values', () => Array.from({ length: 60_000 }, (_, n) => ({ n }))],
    [
      'a deep value',
      () => {
        let value: unknown = 1
        for (let n = 0; n < 50_000; n += 1) value = [value]
        return value
      },
    ],
    ['a long text', () => 'x'.repeat(5_000_000)],
  ])('an output of %s is what the caller gets, and stands in the row by its hash', async (_what, make) => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const value = make()
    expect(await runTask({ journal, runId: 'run', nodeId: 'node' }, () => any(() => value).execute({}))).toBe(value)
    const [row] = await journal.listRun('run')
    expect(row?.status).toBe('success')
    expect(JSON.parse(row?.outputJson ?? '')).toMatchObject({ inexact: true, sha256: expect.any(String), left_out: expect.any(String) })
  })

  test('different large arguments are different calls, and the same ones the same, in every attempt', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const keys = new Map<string, (string | null)[]>()
    const tool = defineTool({
      name: 'pay',
      schema: z.any(),
      sideEffect: true,
      execute: ({ text, at }: any, ctx) =>
        void keys.set(`${String(text).slice(-1)}${at}`, [...(keys.get(`${String(text).slice(-1)}${at}`) ?? []), ctx.callIdempotencyKey]),
    })
    for (const attempt of [1, 2]) {
      await runTask({ journal, runId: 'run', nodeId: 'node', attempt }, async () => {
        for (const end of ['a', 'b']) await tool.execute({ text: `${'x'.repeat(2_000_000)}${end}`, at: '' })
      })
    }
    const [a, b] = [keys.get('a'), keys.get('b')]
    expect(a?.[0]).toBeTypeOf('string')
    expect(a?.[0]).toBe(a?.[1])
    expect(b?.[0]).toBe(b?.[1])
    expect(a?.[0]).not.toBe(b?.[0])
  })

  test('a text that is too large to be written is recorded by size and hash like others', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const fixture = makeSandbox()
    const tools = createTools({ rootDir: fixture.root, journal, maxOutputBytes: 4_000_000 })
    await tools.write.execute({ path: 'a', content: 'é'.repeat(1_500_000) })
    await refusal(tools.write.execute({ path: 'a', content: 'é'.repeat(3_000_000) }))
    const [run] = await journal.listRuns()
    const rows = await journal.listRun(run?.runId ?? '')
    expect(rows.map(({ inputJson }) => JSON.parse(inputJson ?? '').contentBytes)).toEqual([3_000_000, 6_000_000])
  })
})
