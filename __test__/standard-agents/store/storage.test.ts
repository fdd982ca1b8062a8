import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { runs, seed } from '../../support/randomised.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { openThreadStore, threadStorage, type ThreadStorage } from './stores.ts'

async function storage(): Promise<ThreadStorage> {
  const store = await openThreadStore('memory:')
  onTestFinished(() => store.close())
  await store.openThread({ threadId: 't', flowId: 'f' })
  return threadStorage(store, 't')
}

const utf8 = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
const byKey = ([a]: [string, unknown], [b]: [string, unknown]): number => utf8(a, b)

describe('the storage of a thread', () => {
  test('get, put, delete and list, of one key and of many', async () => {
    const values = await storage()
    expect(await values.get('a')).toBeUndefined()
    await values.put('a', { n: 1 })
    await values.put({ c: 3, b: [2] })
    expect(await values.get('a')).toEqual({ n: 1 })
    expect([...(await values.get(['c', 'none', 'a']))]).toEqual([
      ['a', { n: 1 }],
      ['c', 3],
    ])
    expect([...(await values.list())]).toEqual([
      ['a', { n: 1 }],
      ['b', [2]],
      ['c', 3],
    ])
    expect([...(await values.list({ start: 'b', reverse: true, limit: 1 }))]).toEqual([['c', 3]])
    expect(await values.delete('a')).toBe(true)
    expect(await values.delete('a')).toBe(false)
    expect(await values.delete(['b', 'none', 'c'])).toBe(2)
    await values.put('a', 1)
    await values.deleteAll()
    expect((await values.list()).size).toBe(0)
  })

  test('a value is copied when it is put, and again when it is got', async () => {
    const values = await storage()
    const value = { list: [1] }
    const put = values.put('a', value)
    value.list.push(2)
    await put
    const got = await values.get<typeof value>('a')
    got?.list.push(3)
    expect(await values.get('a')).toEqual({ list: [1] })
  })

  test('calls that are not awaited take effect in the order in which they were made', async () => {
    const values = await storage()
    const all: Promise<unknown>[] = []
    for (let n = 0; n < 50; n += 1) all.push(values.put('n', n), values.get('n'))
    const got = (await Promise.all(all)).filter((_, index) => index % 2 === 1)
    expect(got).toEqual(Array.from({ length: 50 }, (_, n) => n))
    const failing = values.put('x', () => undefined)
    await expect(Promise.all([failing, values.put('y', 1)])).rejects.toMatchObject({ code: 'THREAD_VALUE_REFUSED' })
    expect(await values.get('y')).toBe(1)
  })

  test('every kind of value comes back as what it was', async () => {
    const values = await storage()
    const bytes = Uint8Array.from([1, 2, 3, 4])
    const cyclic: { self?: unknown; list: unknown[] } = { list: [] }
    cyclic.self = cyclic
    cyclic.list.push(cyclic.list)
    const holes: unknown[] = [1]
    holes[2] = 3
    const kinds = {
      text: 'é\0\ud83d\ude00\u2028',
      half: '\ud800',
      empty: '',
      number: 1.5,
      negativeZero: -0,
      nan: Number.NaN,
      infinity: -Infinity,
      big: 123_456_789_012_345_678_901n,
      yes: true,
      nothing: null,
      date: new Date(5),
      never: new Date(Number.NaN),
      pattern: /a.b/giu,
      map: new Map<unknown, unknown>([
        [{ a: 1 }, new Set([1])],
        ['k', undefined],
      ]),
      set: new Set(['a', /b/u]),
      bytes,
      floats: new Float64Array([1.5]),
      bigs: new BigInt64Array([-1n]),
      view: new DataView(bytes.buffer),
      buffer: bytes.buffer,
      holes,
      withUndefined: { a: undefined },
      boxed: Object(1) as unknown,
      'k"ey': { 'a.b': 1, '': 2 },
    }
    await values.put(kinds)
    const got = Object.fromEntries(await values.list())
    expect(got).toEqual(kinds)
    expect(Object.keys(got['holes'] as object)).toEqual(['0', '2'])
    expect(Object.is(got['negativeZero'], -0)).toBe(true)
    expect(Object.hasOwn(got['withUndefined'] as object, 'a')).toBe(true)
    await values.put('cyclic', cyclic)
    const back = await values.get<typeof cyclic>('cyclic')
    expect(back?.self).toBe(back)
    expect(back?.list[0]).toBe(back?.list)
    await values.put('error', new TypeError('wrong', { cause: new Error('why') }))
    const error = await values.get<Error>('error')
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toMatchObject({ name: 'TypeError', message: 'wrong' })
    await values.put(
      'class',
      new (class Point {
        x = 1
        get double() {
          return this.x * 2
        }
      })(),
    )
    expect(await values.get('class')).toEqual({ x: 1 })
  })

  test('a view on a part of a buffer is stored without the rest of the buffer', async () => {
    const store = await openThreadStore('memory:')
    onTestFinished(() => store.close())
    await store.openThread({ threadId: 't', flowId: 'f' })
    const secret = Buffer.from('this is secret: hidden')
    await threadStorage(store, 't').put('k', secret.subarray(0, 4))
    expect(Buffer.from((await threadStorage(store, 't').get<Uint8Array>('k')) ?? []).toString()).toBe('this')
    const [[, encoded] = ['', '']] = await store.readValues('t', ['k'])
    expect(encoded.length).toBeLessThan(100)
    expect(encoded).toContain(Buffer.from('this').toString('base64'))
  })

  test.each([
    ['undefined', undefined],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['a promise', Promise.resolve(1)],
    ['a deep function', { a: [{ b: () => 1 }] }],
    [
      'what throws',
      {
        get a() {
          throw new RangeError('mine')
        },
      },
    ],
    ['a weak map', new WeakMap()],
    // Read back, it would be the prototype.
    ['a property named __proto__', JSON.parse('{ "a": { "__proto__": 1 } }')],
    ['shared memory', new SharedArrayBuffer(1)],
  ])('what cannot be stored is refused: %s', async (_name, value) => {
    const values = await storage()
    await values.put('k', 'before')
    await expect(values.put('k', value)).rejects.toMatchObject({ code: 'THREAD_VALUE_REFUSED', details: { key: 'k' } })
    await expect(values.put({ j: 1, k: value })).rejects.toMatchObject({ code: 'THREAD_VALUE_REFUSED' })
    expect([...(await values.list())]).toEqual([['k', 'before']])
  })

  test('a value nested deeper than the stack is refused, and nothing else happens', async () => {
    const values = await storage()
    let deep: unknown = 0
    for (let n = 0; n < 200_000; n += 1) deep = [deep]
    await expect(values.put('k', deep)).rejects.toMatchObject({ code: 'THREAD_VALUE_REFUSED' })
  })

  test.each<[unknown]>([[''], ['\ud800'], ['x'.repeat(2049)], [1], [null], [Symbol('s')]])(
    'a key that is none is refused: %o',
    async (key: unknown) => {
      const values = await storage()
      const refused = { code: 'THREAD_KEY_REFUSED' }
      await expect(values.get(key as string)).rejects.toMatchObject(refused)
      await expect(values.put(key as string, 1)).rejects.toMatchObject(refused)
      await expect(values.delete([key as string])).rejects.toMatchObject(refused)
    },
  )

  test('128 keys at once and no more; options that make no sense', async () => {
    const values = await storage()
    const keys = Array.from({ length: 129 }, (_, n) => `k${n}`)
    await expect(values.get(keys)).rejects.toMatchObject({ code: 'THREAD_KEY_REFUSED' })
    await values.put(Object.fromEntries(keys.slice(1).map((key) => [key, 1])))
    expect((await values.get(keys.slice(1))).size).toBe(128)
    for (const range of [{ limit: 0 }, { limit: 1.5 }, { start: 'a', startAfter: 'a' }, { prefix: 1 }, { reverse: 'yes' }, null]) {
      await expect(values.list(range as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    }
  })

  test('keys that are names of the language are keys like others', async () => {
    const values = await storage()
    for (const key of ['__proto__', 'constructor', 'toString']) await values.put(key, key)
    expect([...(await values.list()).keys()]).toEqual(['__proto__', 'constructor', 'toString'])
    expect({}.constructor).toBe(Object)
  })
})

describe('laws of the storage', () => {
  const key = fc.oneof(
    fc.stringMatching(/^[ab]{1,3}$/u),
    fc.constantFrom('\u007f', '\u0080', '\uffff', '\u{10000}', 'a\u{10ffff}', 'a\0', 'a%_', '\ud7ff', '\ue000'),
  )
  const value = fc.jsonValue().filter((json) => !JSON.stringify(json).includes('"__proto__"'))
  const bound = fc.option(key, { nil: undefined })
  const command = fc.oneof(
    { weight: 4, arbitrary: fc.record({ put: fc.dictionary(key, value, { maxKeys: 4, noNullPrototype: true }) }) },
    fc.record({ delete: fc.array(key, { maxLength: 3 }) }),
    fc.record({ get: fc.array(key, { maxLength: 3 }) }),
    fc.record({
      list: fc.record({
        prefix: bound,
        start: bound,
        end: bound,
        reverse: fc.boolean(),
        limit: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
      }),
    }),
    fc.record({ list: fc.record({ startAfter: bound, end: bound, reverse: fc.boolean() }) }),
    fc.constant({ deleteAll: true }),
  )

  test('it does what a Map with sorted keys does', async () => {
    const one = fc.asyncProperty(fc.array(command, { maxLength: 25 }), async (commands) => {
      const store = await openThreadStore('memory:')
      await store.openThread({ threadId: 't', flowId: 'f' })
      const values = threadStorage(store, 't')
      const model = new Map<string, unknown>()
      const sorted = (): [string, unknown][] => [...model].toSorted(byKey)
      for (const step of commands) {
        if ('put' in step) {
          await values.put(step.put)
          for (const [name, value] of Object.entries(step.put)) model.set(name, value)
        } else if ('delete' in step) {
          expect(await values.delete(step.delete)).toBe(step.delete.filter((name) => model.delete(name)).length)
        } else if ('get' in step) {
          expect([...(await values.get(step.get))]).toEqual(sorted().filter(([name]) => step.get.includes(name)))
        } else if ('list' in step) {
          const {
            prefix = '',
            start,
            startAfter,
            end,
            reverse,
            limit,
          } = step.list as Partial<Record<'prefix' | 'start' | 'startAfter' | 'end', string>> & { reverse: boolean; limit?: number }
          const matching = sorted().filter(
            ([name]) =>
              name.startsWith(prefix) &&
              (start === undefined || utf8(name, start) >= 0) &&
              (startAfter === undefined || utf8(name, startAfter) > 0) &&
              (end === undefined || utf8(name, end) < 0),
          )
          if (reverse) matching.reverse()
          expect([...(await values.list(step.list))]).toEqual(matching.slice(0, limit))
        } else {
          await values.deleteAll()
          model.clear()
        }
      }
      await store.close()
    })
    await fc.assert(one, { seed, numRuns: runs(60) })
  }, 60_000)

  test('any value that can be cloned comes back equal', async () => {
    const values = await storage()
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withSparseArray: true,
      withNullPrototype: false,
    })
    const one = fc.asyncProperty(anything, async (value) => {
      fc.pre(
        value !== undefined &&
          !JSON.stringify(value, (name, inner: unknown) =>
            name === '__proto__' ? '__proto__!' : typeof inner === 'bigint' ? 0 : inner,
          )?.includes('__proto__!'),
      )
      await values.put('k', value)
      expect(await values.get('k')).toEqual(structuredClone(value))
    })
    await fc.assert(one, { seed, numRuns: runs(150) })
  }, 60_000)
})

test('Node and Bun read what the other one wrote', async () => {
  const file = join(makeSandbox().root, 'thread.db')
  const script = fileURLToPath(new URL('values-process.ts', import.meta.url))
  const other = process.versions['bun'] === undefined ? 'bun' : 'node'
  const program = fileURLToPath(new URL(`../../../node_modules/.bin/${other}`, import.meta.url))
  const run = (what: string): string => {
    const { stdout, stderr, status } = spawnSync(program, [script, file, what], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    return stdout.trim()
  }
  expect(run('write')).toBe('written')
  const store = await openThreadStore(file)
  onTestFinished(() => store.close())
  const values = threadStorage(store, 't')
  const theirs = await values.get<Map<unknown, unknown>>('theirs')
  expect(theirs).toEqual(
    new Map<unknown, unknown>([
      ['bytes', Uint8Array.from([1, 2])],
      [1n, new Date(7)],
      ['text', 'é\ud83d\ude00'],
      ['nested', new Set([{ a: -0 }])],
    ]),
  )
  await values.put('ours', theirs)
  expect(run('compare')).toBe('equal')
})
