import { createSession, isLockedToolId, lockedToolIds, type RecordPart } from 'toolwright/contract'
import { openJournal } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { allowAll, dataOf, failureOf, openScene, testTool } from '../scene.ts'

const anything = { parameters: { type: 'object' } }
/** A tool that gives back what it was called with. */
const echo = testTool('echo', (args) => args, anything)

describe('arguments are copied once, before anybody judges them', () => {
  test('what the watchdog was shown is what runs, whatever the caller does with its object meanwhile', async () => {
    const args = { path: 'b.txt', content: 'good' }
    const seen: unknown[] = []
    const { call, text, session } = await openScene({
      watchdog: (watched) => {
        seen.push(watched.args)
        args.path = 'evil.txt'
        return { action: 'allow' }
      },
    })
    expect(dataOf(await call('write', args))).toMatchObject({ path: 'b.txt' })
    expect(seen).toEqual([{ path: 'b.txt', content: 'good' }])
    expect(text('b.txt')).toBe('good')
    expect(failureOf(await session.call('read', { path: 'evil.txt' })).code).toBe('not_found')
  })

  test('one object can be used for several calls', async () => {
    const { call, put } = await openScene()
    const args = { path: '' }
    const calls = ['a', 'b', 'c'].map((path) => {
      put(path, `file ${path}`)
      args.path = path
      return call('read', args)
    })
    const texts = (await Promise.all(calls)).map((envelope) => dataOf(envelope).content)
    expect(texts).toEqual(['file a', 'file b', 'file c'])
  })

  test('a recorder, a watchdog, a prompt and a tool each have a copy of their own', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const parts: RecordPart[] = []
    const blotOut = (value: unknown): void => void Object.assign(value as object, { content: '[redacted]', text: '[redacted]' })
    const changing = testTool('changing', (args) => (blotOut(args), args), anything)
    const { call, text, session } = await openScene({
      journal,
      tools: [changing],
      manifest: { name: 'test', permissions: [...allowAll, { permission: 'write', pattern: '**', action: 'ask' }] },
      watchdog: (watched) => (blotOut(watched.args), { action: 'ask' }),
      host: { prompt: (asked) => (blotOut(asked.args), { decision: 'allow_once' }) },
      onRecord: (part) => {
        parts.push(structuredClone(part))
        blotOut(part.args)
        if (part.type === 'result' && part.envelope.type === 'output') blotOut(part.envelope.data)
      },
    })
    const args = { path: 'a.txt', content: 'secret' }
    await call('write', args)
    expect(text('a.txt')).toBe('secret')
    expect(dataOf(await call('read', { path: 'a.txt' })).content).toBe('secret')
    const given = { text: 'given' }
    // Its own copy may change, and is what it gives.
    expect(dataOf(await call('changing', given))).toEqual({ content: '[redacted]', text: '[redacted]' })
    expect([args, given]).toEqual([{ path: 'a.txt', content: 'secret' }, { text: 'given' }])
    expect(parts.filter(({ tool }) => tool === 'changing').map((part) => part.args)).toEqual([{ text: 'given' }, { text: 'given' }])
    const rows = await journal.listRun(session.id)
    expect(rows.map(({ inputJson }) => JSON.parse(inputJson ?? ''))).toEqual([
      { path: 'a.txt', content_bytes: 6, content_sha256: expect.any(String) },
      { path: 'a.txt' },
      { text: 'given' },
    ])
    expect(JSON.parse(rows[1]?.outputJson ?? '')).toMatchObject({ data: { content: 'secret' } })
  })

  test('a getter is asked once, and its answer is judged and used', async () => {
    let asked = 0
    const { call, put } = await openScene()
    put('a', 'A')
    put('b', 'B')
    const args = {
      get path() {
        return (asked += 1) === 1 ? 'a' : 'b'
      },
    }
    expect(dataOf(await call('read', args)).content).toBe('A')
    expect(asked).toBe(1)
  })
})

describe('arguments are what JSON makes of them', () => {
  test('a property that is undefined is left out', async () => {
    const { call, put } = await openScene({ tools: [echo] })
    put('a', 'text')
    expect(dataOf(await call('read', { path: 'a', limit: undefined })).content).toBe('text')
    expect(dataOf(await call('echo', { a: undefined, b: [undefined, 1], c: new Date(0), d: Object.create(null) as object }))).toEqual({
      b: [null, 1],
      c: '1970-01-01T00:00:00.000Z',
      d: {},
    })
    const { text } = failureOf(await call('read', { path: undefined }))
    expect(text).toContain('`path` is missing')
    expect(text).not.toContain('..')
  })

  test('names that every object has are names like others', async () => {
    const { call } = await openScene({ tools: [echo] })
    const args = JSON.parse('{"__proto__": {"path": "x"}, "constructor": 1, "toString": "s"}') as object
    const given = dataOf<object>(await call('echo', args))
    expect(Object.keys(given)).toEqual(['__proto__', 'constructor', 'toString'])
    expect(Object.getPrototypeOf(given)).toBe(Object.prototype)
  })

  const cycle: Record<string, unknown> = {}
  cycle['self'] = { cycle }
  const throwing = (): never => {
    throw new Error('trap')
  }
  test.each<[string, unknown, RegExp]>([
    ['a big integer', { a: { b: 1n } }, /\/a\/b: a bigint is nothing that JSON has/u],
    ['a function', { a: () => 1 }, /\/a: a function/u],
    ['a symbol', { a: [Symbol('s')] }, /\/a\/0: a symbol/u],
    ['no number', { a: NaN }, /\/a: NaN is no number/u],
    ['infinity', { 'a/~b': -Infinity }, /\/a~1~0b: -Infinity/u],
    ['a cycle', cycle, /\/self\/cycle: it holds itself/u],
    ['a map', { a: new Map([[1, 2]]) }, /\/a: a Map/u],
    ['bytes', { a: new Uint8Array(3) }, /\/a: a Uint8Array/u],
    [
      'a getter that throws',
      {
        get a() {
          return throwing()
        },
      },
      /\/a: it cannot be read: trap/u,
    ],
    [
      'a proxy that throws',
      { a: new Proxy({}, { ownKeys: throwing, get: throwing, getPrototypeOf: throwing }) },
      /it cannot be read: trap/u,
    ],
    ['a toJSON that throws', { a: { toJSON: throwing } }, /\/a: it cannot be read: trap/u],
    [
      'an array of holes',
      { a: Array.from({ length: 0 }, () => 0), b: Object.assign([], { length: 2 ** 32 - 1 }) },
      /\/b: there are more than 20000 values/u,
    ],
    [
      'what toJSON makes ever more of',
      {
        a: (function make(): object {
          return { toJSON: () => ({ again: make() }) }
        })(),
      },
      /more than 100 levels/u,
    ],
  ])('%s is refused, with the place and what is wrong', async (_what, args, told) => {
    let executed = 0
    const { call } = await openScene({ tools: [testTool('any', () => (executed += 1), anything)] })
    const { code, text } = failureOf(await call('any', args))
    expect(code).toBe('invalid_arguments')
    expect(text).toMatch(told)
    expect(executed).toBe(0)
  })
})

describe('arguments are bounded while they are copied', () => {
  const nested = (levels: number): object => {
    let value: object = {}
    for (let level = 1; level < levels; level += 1) value = { a: value }
    return value
  }

  test.each<[string, () => unknown, () => unknown, string, RegExp]>([
    ['depth', () => nested(100), () => nested(103), 'invalid_arguments', /nested more than 100 levels.*fewer levels/u],
    ['a depth of 200,000', () => ({}), () => nested(200_000), 'invalid_arguments', /more than 100 levels/u],
    [
      'values',
      () => ({ a: Array(19_000).fill(1) }),
      () => ({ a: Array(20_001).fill(1) }),
      'invalid_arguments',
      /\/a: there are more than 20000 values.*fewer at once/u,
    ],
    [
      'properties',
      () => ({}),
      () => Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`k${n}`, n])),
      'invalid_arguments',
      /more than 20000 values/u,
    ],
    [
      'text',
      () => ({ a: 'x'.repeat(1_000) }),
      () => ({ a: 'x'.repeat(10_000_000), b: 'x'.repeat(12_000_000) }),
      'too_large',
      /\/b: the texts have more than 21000000 characters.*several calls/u,
    ],
  ])('%s: up to the limit, and not beyond it', async (_what, fits, exceeds, code, told) => {
    const { call } = await openScene({ tools: [echo] })
    expect((await call('echo', fits())).type).toBe('output')
    const failure = failureOf(await call('echo', exceeds()))
    expect(failure.code).toBe(code)
    expect(failure.text).toMatch(told)
    expect(failure.text.length).toBeLessThan(1_000)
  })

  test('one object in many places counts as often as it stands there', async () => {
    let value: unknown = [1]
    for (let n = 0; n < 40; n += 1) value = [value, value]
    const { call } = await openScene({ tools: [echo] })
    expect(failureOf(await call('echo', { value })).text).toMatch(/more than 20000 values/u)
  })

  test('such a call is recorded by what is wrong with it', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const parts: RecordPart[] = []
    const { call, session } = await openScene({ journal, onRecord: (part) => void parts.push(part) })
    await call('read', { path: nested(1_000) })
    expect(parts.map(({ args }) => args)).toEqual([
      { refused: expect.stringMatching(/levels/u) },
      { refused: expect.stringMatching(/levels/u) },
    ])
    const [row] = await journal.listRun(session.id)
    expect(row).toMatchObject({ status: 'error', inputJson: expect.stringMatching(/refused.*levels/u) })
  })
})

describe('a check stops at the first limit', () => {
  const cpuOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = process.cpuUsage()
    await work()
    return (process.cpuUsage(before).user + process.cpuUsage(before).system) / 1_000
  }

  test('100,000 todos, 300,000 properties and long texts are refused by their number', async () => {
    const { call } = await openScene()
    const todos = Array.from({ length: 100_000 }, () => ({ content: 'x', status: 'pending' }))
    const some = todos.slice(0, 5_000)
    let told: string[] = []
    const took = await cpuOf(async () => {
      const calls: [string, object][] = [
        ['todo', { todos }],
        ['todo', { todos: some }],
        ['read', { path: 'x'.repeat(9_000_000) }],
        ['bash', { command: 'x'.repeat(9_000_000) }],
      ]
      told = await Promise.all(calls.map(async ([id, args]) => failureOf(await call(id, args)).text))
    })
    expect(told).toEqual([
      expect.stringMatching(/\/todos: there are more than 20000 values/u),
      expect.stringMatching(/\/todos: Array has too many items \(5000 > 1000\)\. /u),
      expect.stringMatching(/\/path: String is too long \(9000000 > 4096\)\. /u),
      expect.stringMatching(/\/command: String is too long \(9000000 > 65536\)\. /u),
    ])
    // Measured: 10 ms.
    expect(took).toBeLessThan(1_000)
    const many = Object.fromEntries(Array.from({ length: 15_000 }, (_, n) => [`k${n}`, n]))
    expect(failureOf(await call('read', { path: 'a', ...many })).text).toMatch(/\/k0: there is no such property, nor 14999 others/u)
  })

  test('a command line that ends in what no command may hold is refused as fast as another', async () => {
    const { call } = await openScene()
    const took = await cpuOf(async () => {
      for (const command of [`${'x'.repeat(65_000)}\0`, `${' '.repeat(65_000)}\0`, ' \t\n'.repeat(21_000)]) {
        expect(failureOf(await call('bash', { command })).code).toBe('invalid_arguments')
      }
    })
    // Measured: 10 ms; a pattern that tries every way of dividing the text takes seconds.
    expect(took).toBeLessThan(1_000)
  })

  test('no message says what the validator stumbled over', async () => {
    const endless = testTool('endless', () => 1, { parameters: { type: 'object', properties: { a: { $ref: '#/properties/a' } } } })
    const { call } = await openScene({ tools: [endless] })
    const { code, text } = failureOf(await call('endless', { a: 1 }))
    expect(code).toBe('invalid_arguments')
    expect(text).not.toMatch(/call stack/u)
  })
})

describe('texts that tools throw', () => {
  test('are cut like outputs, and say so', async () => {
    const { call } = await openScene({
      tools: [
        testTool('fails', () => {
          throw new Error(`é${'x'.repeat(5_000_000)}`)
        }),
      ],
    })
    const { code, text } = failureOf(await call('fails', {}))
    expect(code).toBe('tool_failed')
    expect(text).toMatch(/^éx+\n\[The rest of the 5000001 characters is left out\.\]$/u)
    expect(Buffer.byteLength(text)).toBeLessThan(201_000)
  })
})

describe('what is fixed stays fixed', () => {
  test('the locked ids cannot be emptied', () => {
    expect(() => ((lockedToolIds as unknown as string[]).length = 0)).toThrow(TypeError)
    expect(() => (lockedToolIds as unknown as string[]).push('mine')).toThrow(TypeError)
    expect(isLockedToolId('read')).toBe(true)
  })

  test('a misspelt name of the host is refused, and one of a class of its own is not', async () => {
    const open = (host: object) =>
      createSession({ workspace: [], manifest: { name: 'test' }, host, skills: { project: false, home: false } })
    await expect(open({ promt: () => undefined })).rejects.toThrow(/host\.promt is no option; there are prompt, /u)
    class Host {
      readonly state = 1
    }
    await (await open(new Host())).close()
  })
})
