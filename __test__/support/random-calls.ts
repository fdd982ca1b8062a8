/** Random calls of everything the package exports, with every kind of value JavaScript has. */
import fc from 'fast-check'
import * as toolwright from 'toolwright'
import { z } from 'zod'

/** What the traps of this file throw. */
class Trap extends TypeError {}

const trap = (): never => {
  throw new Trap('a trap was touched')
}

/** Makes a value when the call is made: fast-check would touch the traps of one made before. */
type Make = () => unknown

const odd: Make[] = [
  () => new Proxy({}, { get: trap, has: trap, ownKeys: trap, getOwnPropertyDescriptor: trap }),
  () => new Proxy(() => 1, { apply: trap, get: trap }),
  () => ({
    get path() {
      return trap()
    },
    get cmd() {
      return trap()
    },
    get rootDir() {
      return trap()
    },
  }),
  () => ({ toString: trap, valueOf: trap, [Symbol.toPrimitive]: trap }),
  () => ({ toString: () => 'text' }),
  () => Object.create(null),
  () => {
    const cyclic: Record<string, unknown> = {}
    cyclic['self'] = cyclic
    return cyclic
  },
  // oxlint-disable-next-line no-sparse-arrays
  () => [, 'a', , 'b'],
  () => Array(200).fill('x'),
  () => Object.assign([], { length: 5 }),
  () => Object.assign(['a'], { length: 3 }),
  () => 'x'.repeat(2_000_000),
  () => '€'.repeat(300_000),
  () => '\u{d800}',
  () => 'a\0b',
  () => '',
  () => Symbol('s'),
  () => Symbol.iterator,
  () => 10n ** 30n,
  () => 1n,
  () => Number.NaN,
  () => Number.POSITIVE_INFINITY,
  () => -0,
  () => 2 ** 53,
  () => 5e-324,
  () => true,
  () => null,
  () => undefined,
  () => new Date(Number.NaN),
  () => new Map([[{}, []]]),
  () => new Uint8Array(3),
  () => new Uint8Array(new SharedArrayBuffer(3)),
  () => new String('boxed'),
  () => new Error('an error'),
  () => /x/gu,
  () => () => trap(),
  () => async () => trap(),
  () => Promise,
  () => globalThis,
  () => AbortSignal.abort(),
  () => new AbortController().signal,
  () => new WeakMap(),
  () => Object.fromEntries([['th', 'en'].join('')].map((key) => [key, trap])),
]

/** Text without `/` and `.`, so that no path made of it leaves the directory of the fuzz. */
const text = fc.string({ unit: 'binary', maxLength: 20 }).map((value) => value.replaceAll(/[./]/gu, '_'))

const oddOne: fc.Arbitrary<Make> = fc.constantFrom(...odd)
const exactly = (...values: unknown[]): fc.Arbitrary<Make> => fc.constantFrom(...values.map((value) => () => value))

const list = (items: fc.Arbitrary<Make>): fc.Arbitrary<Make> =>
  fc.array(items, { maxLength: 4 }).map((makes) => () => makes.map((make) => make()))

const anything: fc.Arbitrary<Make> = fc.oneof(
  { weight: 4, arbitrary: oddOne },
  { weight: 1, arbitrary: fc.integer().map((value) => () => value) },
  { weight: 1, arbitrary: text.map((value) => () => value) },
  { weight: 1, arbitrary: list(oddOne) },
)

/** Mostly something that makes sense, so that calls get further than their first check. */
const or = (...sensible: unknown[]): fc.Arbitrary<Make> =>
  fc.oneof({ weight: 3, arbitrary: exactly(...sensible) }, { weight: 2, arbitrary: anything })

/** Nearly always something that makes sense: one such field is enough to refuse the whole call. */
const mostly = (...sensible: unknown[]): fc.Arbitrary<Make> =>
  fc.oneof({ weight: 14, arbitrary: exactly(...sensible) }, { weight: 1, arbitrary: anything })

/** An object with some of the given fields, or anything at all. */
const fields = (shape: Record<string, fc.Arbitrary<Make>>): fc.Arbitrary<Make> =>
  fc.oneof(
    {
      weight: 12,
      arbitrary: fc
        .record(shape, { requiredKeys: [] })
        .map((makes) => () => Object.fromEntries(Object.entries(makes).map(([key, make]) => [key, make?.()]))),
    },
    { weight: 1, arbitrary: anything },
  )

const path = or('f', 'dir/new', 'none', '..', '.')
const content = or('one\n', '')
const patch = or('@@ -1 +1 @@\n-one\n+two\n', '@@ @@', '@@ -0,0 +9999999999,1 @@\n+x\n')
const pattern = or('o.e', '(', '(a*)*$', '\\b')
// Nothing that acts upon its arguments: they are random.
const cmd = fc.oneof(exactly('echo', 'true', 'false', 'no-such-program', './f', '\0', 'a\0b'), oddOne)
const args = fc.oneof(anything, list(or('a', '-n')))
// Never a directory but the one of the fuzz.
const rootDir = fc.oneof(
  { weight: 12, arbitrary: exactly(undefined, '.') },
  { weight: 1, arbitrary: exactly('none', 'a\0') },
  { weight: 1, arbitrary: oddOne },
)
const opts = fields({ cwd: or('.', 'dir', 'f', 'none', '..') })

const options = fields({
  rootDir,
  allowNetwork: mostly(false, true),
  maxOutputBytes: mostly(5, 1000, 1e7),
  toolTimeoutMs: mostly(1, 2000),
  durability: mostly('process', 'fsync'),
  allowInPlace: mostly(false, true),
})
const context = fields({
  db: anything,
  runId: mostly('r'),
  nodeId: mostly('n'),
  iteration: mostly(0, 1),
  attempt: mostly(0),
  idempotencyKey: mostly('key'),
  rootDir,
  allowNetwork: mostly(false),
  maxOutputBytes: mostly(5, 1000),
  timeoutMs: mostly(1, 2000),
  seq: mostly(0, 3),
  signal: mostly(undefined, new AbortController().signal),
  toolUseId: mostly('id'),
  recordToolCall: mostly(undefined, () => undefined, trap),
  durabilitySnapshot: mostly(undefined, trap),
})
const callOptions = fields({ toolCallId: mostly('id'), abortSignal: mostly(new AbortController().signal), messages: anything })

const inputs: Record<string, fc.Arbitrary<Make>> = {
  read: fields({ path }),
  write: fields({ path, content }),
  edit: fields({ path, patch }),
  grep: fields({ pattern, path }),
  bash: fields({ cmd, args, opts }),
}
const direct: Record<string, fc.Arbitrary<Make>[]> = {
  readFileTool: [path, anything],
  writeFileTool: [path, content],
  editFileTool: [path, patch],
  grepTool: [pattern, path],
  bashTool: [cmd, args, opts],
  getDefinedToolMetadata: [anything],
  getToolContext: [anything],
  getToolIdempotencyKey: [context],
  nextToolSeq: [context],
}

/** One random call: its name, and what makes it. It may throw, or give a promise that rejects. */
export interface RandomCall {
  name: string
  run(): unknown
}

const exported = { ...toolwright } as unknown as Record<string, (...values: unknown[]) => unknown>
const use = (name: string, ...values: unknown[]): unknown => exported[name]?.(...values)

type Executable = Record<string, { execute(...values: unknown[]): unknown }>

const directCalls = Object.entries(direct).map(([name, parameters]) =>
  fc.tuple(...parameters).map((values): RandomCall => ({ name, run: () => use(name, ...values.map((make) => make())) })),
)

const executions = Object.entries(inputs).map(([name, input]) =>
  fc.tuple(input, callOptions, options).map(([value, second, bound]): RandomCall => ({
    name: `createTools().${name}.execute`,
    run: () => (use('createTools', bound()) as Executable)[name]?.execute(value(), second()),
  })),
)

const inContext = fc.tuple(context, fc.oneof(...directCalls)).map(([value, call]): RandomCall => ({
  name: `runWithToolContext of ${call.name}`,
  run: () => use('runWithToolContext', value(), call.run),
}))

const settings = fc
  .tuple(fc.constantFrom('configureTools', 'runWithToolContext'), options, anything)
  .map(([name, ...values]): RandomCall => ({
    name,
    run: () => {
      try {
        return use(name, ...values.map((make) => make()))
      } finally {
        toolwright.configureTools({})
      }
    },
  }))

const definitions = fc
  .tuple(
    fields({
      name: or('x'),
      description: or('says'),
      schema: or(z.object({})),
      sideEffect: or(true, false),
      idempotent: or(true),
      execute: or(
        () => 1,
        trap,
        (_args: unknown, _ctx: unknown) => 2,
      ),
      revert: or(undefined, async () => undefined),
    }),
    anything,
    callOptions,
    context,
  )
  .map(([definition, input, second, ambient]): RandomCall => ({
    name: 'defineTool',
    run: () => {
      const tool = use('defineTool', definition()) as Executable[string] | undefined
      return use('runWithToolContext', ambient(), () => tool?.execute(input(), second()))
    },
  }))

const errors = fc
  .tuple(fields({ code: or('INVALID_INPUT'), summary: or('x'), details: anything }), anything)
  .map(([value, other]): RandomCall => ({
    name: 'ToolError',
    run: () => [new toolwright.ToolError(value() as never), toolwright.ToolError.isInstance(other())],
  }))

/** Any call at all. */
export const randomCall: fc.Arbitrary<RandomCall> = fc.oneof(...directCalls, ...executions, inContext, settings, definitions, errors)

/** Why a call has behaved badly, or `undefined`: it may fail, but in a way that a caller can handle. */
export async function complaintAbout(call: RandomCall): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined
  const hang = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, 10_000, `${call.name} hangs`)
  })
  const settle = async (): Promise<string | undefined> => {
    try {
      // In a list, for what is given back may be a thenable of ours.
      const result = call.run()
      if (result instanceof Promise) await result.then((value) => [value])
      return undefined
    } catch (error) {
      if (toolwright.ToolError.isInstance(error)) {
        if (error.code === 'INTERNAL_ERROR') return `${call.name}: ${error.message}`
        return undefined
      }
      if (error instanceof TypeError || (error instanceof Error && error.name === 'AbortError')) return undefined
      return `${call.name} threw ${error instanceof Error ? (error.stack ?? error.message) : typeof error}`
    }
  }
  try {
    return await Promise.race([settle(), hang])
  } finally {
    clearTimeout(timer)
  }
}
