import { builtInTools } from 'toolwright/contract'
import { expect, test } from 'vitest'
import { ArgumentProblem, structureCopy } from '../../ts/core/argument-copy.ts'
import { loadArgumentChecks } from '../../ts/contract/call/argument-checks/argument-checks.ts'
import { ContractFailure } from '../../ts/contract/registry/envelope.ts'
import { snapshotArguments } from '../../ts/contract/registry/call-arguments.ts'
import { runs, seed } from '../support/randomised.ts'

const nested = (levels: number, asObject: boolean): unknown => {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = asObject ? { a: value } : [value]
  return value
}
const throwing = (): never => {
  throw new RangeError('trap')
}

/** Numbers from 0 to 1, the same ones for the same seed. A million values by a library of generators take an hour. */
function randomFrom(start: number): () => number {
  let state = start >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

class Shapes {
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
  }

  below(max: number): number {
    return Math.floor(this.#random() * max)
  }

  one<T>(of: readonly T[]): T {
    return of[this.below(of.length)] as T
  }

  text(): string {
    const letters = ['x', 'a/', '(', '\0', '\ud800', '😀', ' ', '\n', 'é', '*', '..', '$&', '__proto__']
    if (this.below(200) === 0) return this.one(letters).repeat(this.below(100_000))
    return Array.from({ length: this.below(8) }, () => this.one(letters)).join('')
  }

  number(): number {
    return this.one([0, -0, 1, -1, 0.5, NaN, Infinity, -Infinity, 2 ** 31, 2 ** 53, 1e300, 5e-324, this.below(2 ** 40), -this.#random()])
  }

  /** Arguments of a tool, some of which it has. */
  args(names: readonly string[]): unknown {
    if (this.below(5) === 0) return this.value(0)
    return Object.fromEntries(
      Array.from({ length: this.below(6) }, () => [this.below(3) === 0 ? this.text() : this.one(names), this.value(0)]),
    )
  }

  value(depth: number): unknown {
    const kind = this.below(depth > 5 ? 60 : 100)
    if (kind < 25) return this.text()
    if (kind < 45) return this.number()
    if (kind < 58) return this.one([true, false, null, undefined])
    if (kind < 60) return this.odd()
    if (kind < 78) return Array.from({ length: this.below(6) }, () => this.value(depth + 1))
    if (kind < 97) return Object.fromEntries(Array.from({ length: this.below(6) }, () => [this.text(), this.value(depth + 1)]))
    if (kind < 99) return this.cyclic(depth)
    return this.below(20) === 0 ? this.large() : this.odd()
  }

  cyclic(depth: number): unknown {
    const record: Record<string, unknown> = { a: this.value(depth + 1) }
    record['self'] = this.below(2) === 0 ? record : [{ again: record }]
    return record
  }

  large(): unknown {
    const length = this.below(40_000)
    const kind = this.below(4)
    if (kind === 0) return Array.from({ length }, (_, n) => (n % 3 === 0 ? { n } : n))
    if (kind === 1) return Object.fromEntries(Array.from({ length: length / 2 }, (_, n) => [`k${n}`, n]))
    if (kind === 2) return nested(length, length % 2 === 0)
    let value: unknown = 'x'
    for (let level = 0; level < length % 60; level += 1) value = [value, value]
    return value
  }

  odd(): unknown {
    return this.one(odd)()
  }
}

const odd: readonly (() => unknown)[] = [
  () => new Proxy({}, { get: throwing, ownKeys: throwing, getPrototypeOf: throwing }),
  () => new Proxy([], { get: (target, key) => (key === 'length' ? 2 ** 32 - 1 : Reflect.get(target, key)) }),
  () => ({
    get path() {
      return throwing()
    },
  }),
  () => ({ toJSON: throwing }),
  () => ({ toJSON: () => ({ toJSON: () => 1 }) }),
  () => Object.assign([], { length: 2 ** 32 - 1 }),
  () => Array(2),
  () => new Map([[1, new Set([2])]]),
  () => new Uint8Array(1_000),
  () => new Date(NaN),
  () =>
    new (class Own {
      path = 'x'
    })(),
  () => JSON.parse('{"__proto__": {"path": 1}, "constructor": {"prototype": 2}}') as unknown,
  () => Object.assign(Object.create(null) as object, { path: 'x' }),
  () => Object(1n) as unknown,
  () => Symbol('s'),
  () => 7n,
  () => throwing,
  () => new Error('x'),
  () => globalThis,
]

/** Far longer than any has taken, in time of the processor: others use it too. */
const MOST_MS = 200

function usedMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

test(
  'whatever arguments a tool is called with, they are copied and judged in a moment, and what is wrong with them is told',
  async () => {
    const makeCheck = await loadArgumentChecks(false)
    const checks = new Map(builtInTools.map(({ id, parameters }) => [id, makeCheck(id, parameters, true)]))
    const signal = new AbortController().signal
    const judge = (id: string, parameters: (typeof builtInTools)[number]['parameters'], args: unknown): number => {
      const start = usedMs()
      const taken = snapshotArguments(id, parameters, args, 10_000_000)
      try {
        if (taken.refusal === undefined) checks.get(id)?.(taken.args, taken, signal)
      } catch (error) {
        if (!ContractFailure.isInstance(error) || error.message.length > 20_000 || /call stack|undefined is not/iu.test(error.message))
          throw error
      }
      try {
        structureCopy(args, { values: 100_000, characters: 200_000_000, depth: 100 })
      } catch (error) {
        if (!(error instanceof ArgumentProblem)) throw error
      }
      return usedMs() - start
    }
    const shapes = new Shapes(randomFrom(seed))
    let slowest = 0
    for (let run = 0; run < runs(10_000); run += 1) {
      const { id, parameters } = shapes.one(builtInTools)
      const args = shapes.args(Object.keys(parameters['properties'] as object))
      let took = MOST_MS
      try {
        took = judge(id, parameters, args)
      } catch (error) {
        throw new Error(`run ${run}, ${id}`, { cause: error })
      }
      slowest = Math.max(slowest, took)
      expect(took, `run ${run}, ${id}`).toBeLessThan(MOST_MS)
    }
    console.log(`argument shapes: ${runs(10_000)}, the slowest ${slowest.toFixed(1)} ms, ${Math.round(process.memoryUsage().rss / 1e6)} MB`)
  },
  60_000 * runs(1),
)
