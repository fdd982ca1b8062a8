/** Requests whose numbers, texts and lists are at, just below and above each limit, and far beyond. */
import { builtInTools } from 'toolwright/contract'
import { BASH_TOOL_MAX_ARG_LENGTH, BASH_TOOL_MAX_ARGS, BASH_TOOL_MAX_COMMAND_LENGTH, BASH_TOOL_MAX_CWD_LENGTH } from 'toolwright'

/** One request: what it is, and its arguments, made when it is its turn. */
export interface Request {
  what: string
  args: () => unknown
}

const numbers = [
  -1,
  -0,
  0,
  0.5,
  1,
  1.5,
  NaN,
  Infinity,
  -Infinity,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32,
  2 ** 32 + 1,
  Number.MAX_SAFE_INTEGER,
  2 ** 53,
  -(2 ** 53),
  1e300,
  -1e300,
  5e-324,
]
const around = (limit: number): number[] => [limit - 1, limit, limit + 1]

/** Texts of a length, of characters that take one, two and three bytes, and that mean something. */
const letters = ['x', 'é', '漢', '😀', '\n', '(', '*', '\0', '\ud800']

const texts = (lengths: readonly number[]): [string, () => string][] => [
  ...lengths.filter((length) => length >= 0).map((length): [string, () => string] => [`${length} × x`, () => 'x'.repeat(length)]),
  ...letters.map((letter): [string, () => string] => [`100000 × ${JSON.stringify(letter)}`, () => letter.repeat(100_000)]),
]

interface Schema {
  type?: string
  enum?: unknown[]
  minimum?: number
  maximum?: number
  maxLength?: number
  maxItems?: number
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
}

/** What of a property can be too large, by its schema. */
function valuesOf({ type, minimum, maximum, maxLength, maxItems, items }: Schema): [string, () => unknown][] {
  if (type === 'integer' || type === 'number') {
    return [...numbers, ...around(minimum ?? 0), ...around(maximum ?? 0)].map((number) => [String(number), () => number])
  }
  if (type === 'array') {
    const one = items === undefined ? 'x' : good(items)
    return [0, ...around(maxItems ?? 1_000), 100_000, 2 ** 32 - 1].map((length) => [
      `${length} items`,
      () => (length > 1e6 ? Object.assign([], { length }) : Array.from({ length }, () => one)),
    ])
  }
  if (type === 'object') return [['100000 names', () => Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, n]))]]
  return texts([0, 1, ...around(maxLength ?? 65_536), ...(maxLength === undefined ? around(10_000_000) : []), 21_500_000])
}

/** Something that fits a schema. */
function good({ type, enum: values, properties = {}, required = [], items }: Schema): unknown {
  if (values !== undefined) return values[0]
  if (type === 'object') return Object.fromEntries(required.map((name) => [name, good(properties[name] ?? {})]))
  if (type === 'array') return [good(items ?? {})]
  if (type === 'integer' || type === 'number') return 1
  return type === 'boolean' ? false : 'file'
}

/** What each tool of a session is asked for. */
export function contractRequests(): [string, Request[]][] {
  return builtInTools.map(({ id, parameters }) => {
    const schema = parameters as Schema
    const base = good(schema) as object
    const requests = Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
      valuesOf(property).map(([what, make]) => ({ what: `${id} ${name} ${what}`, args: () => ({ ...base, [name]: make() }) })),
    )
    return [id, [...requests, ...shapes(id, base), ...(more[id] ?? [])]]
  })
}

/** Whole arguments that are too large. */
const shapes = (tool: string, base: object): Request[] => [
  {
    what: `${tool} 100000 properties`,
    args: () => ({ ...base, ...Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, n])) }),
  },
  { what: `${tool} 10000 levels`, args: () => ({ ...base, deep: nested(10_000) }) },
  { what: `${tool} an array`, args: () => Array.from({ length: 100_000 }, () => base) },
  { what: `${tool} a text`, args: () => 'x'.repeat(10_000_000) },
  { what: `${tool} a number`, args: () => 2 ** 53 },
  { what: `${tool} nothing`, args: () => undefined },
]

export function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = [value]
  return value
}

const edits = (what: string, old_string: string, length: number): Request => ({
  what: `edit ${what} by ${length}`,
  args: () => ({ path: 'places', old_string, new_string: 'y'.repeat(length), replace_all: true }),
})

/** Where two arguments together ask for much. `places` holds 100,000 places, `file` is short, `sparse` is 1 TB. */
const more: Record<string, Request[]> = {
  edit: [
    edits('100000 places', 'a', 100),
    edits('100000 places', 'a', 101),
    edits('100000 places', 'a', 100_000),
    edits('100000 places', 'a', 9_900_000),
  ],
  read: [
    { what: 'read sparse', args: () => ({ path: 'sparse' }) },
    ...[0, 2 ** 32, 2 ** 40 - 1, 2 ** 40, 2 ** 40 + 1].map((offset) => ({
      what: `read sparse at ${offset}`,
      args: () => ({ path: 'sparse', offset, limit: Number.MAX_SAFE_INTEGER }),
    })),
  ],
  grep: [
    '(x{1000}){1000}',
    '(((((x{99}){99}){99}){99}){99})',
    '\\p{L}{1000}',
    '(?:'.repeat(5_000),
    `${'(a?){100}'.repeat(500)}`,
    'x|'.repeat(30_000),
  ].map((pattern) => ({
    what: `grep ${pattern.slice(0, 20)}`,
    args: () => ({ pattern, path: 'places' }),
  })),
  glob: ['**/'.repeat(1_300), '{a,'.repeat(1_300), '{a,b}'.repeat(800), '[a-z]'.repeat(800), `${'*a'.repeat(2_000)}`].map((pattern) => ({
    what: `glob ${pattern.slice(0, 20)}`,
    args: () => ({ pattern }),
  })),
  bash: [
    { what: 'bash floods', args: () => ({ command: 'head -c 50000000 /dev/zero' }) },
    { what: 'bash floods both', args: () => ({ command: 'head -c 20000000 /dev/zero; head -c 20000000 /dev/zero >&2' }) },
    { what: 'bash in a moment', args: () => ({ command: 'sleep 5', timeout_ms: 1 }) },
  ],
  write: [
    { what: 'write emoji', args: () => ({ path: 'w', content: '😀'.repeat(2_500_000) }) },
    { what: 'write one emoji more', args: () => ({ path: 'w', content: '😀'.repeat(2_500_001) }) },
  ],
}

const paths = (): [string, () => string][] => texts([0, 1, ...around(4_096), 10_000_000])
const withPath = (tool: string, rest: object): Request[] =>
  paths().map(([what, make]) => ({ what: `${tool} path ${what}`, args: () => ({ path: make(), ...rest }) }))
const limited = (tool: string, name: string, rest: object, lengths: readonly number[]): Request[] =>
  texts([0, ...lengths, 10_000_000]).map(([what, make]) => ({ what: `${tool} ${name} ${what}`, args: () => ({ ...rest, [name]: make() }) }))

/** What each tool of `createTools` is asked for; `maxOutputBytes` is the default of 200,000. */
export function toolRequests(): [string, Request[]][] {
  const arrays = [0, ...around(BASH_TOOL_MAX_ARGS), 100_000].map((length) => ({
    what: `bash ${length} args`,
    args: () => ({ cmd: 'true', args: Array(length).fill('x') }),
  }))
  const hunks = (count: number): string => Array.from({ length: count }, (_, n) => `@@ -${n + 1} +${n + 1} @@\n-a\n+b\n`).join('')
  const headers = ['1,1', '9007199254740992,1', '1,9007199254740992', '99999999999999999999999,1', '0,0', '4294967296,4294967296'].map(
    (range) => ({
      what: `edit header ${range}`,
      args: () => ({ path: 'file', patch: `@@ -${range} +${range} @@\n-text\n+other\n` }),
    }),
  )
  return (
    [
      ['read', [...withPath('read', {}), { what: 'read sparse', args: () => ({ path: 'sparse' }) }]],
      ['write', [...withPath('write', { content: 'x' }), ...limited('write', 'content', { path: 'w' }, around(200_000))]],
      [
        'edit',
        [
          ...withPath('edit', { patch: hunks(1) }),
          ...limited('edit', 'patch', { path: 'file' }, around(200_000)),
          ...headers,
          { what: 'edit 8000 hunks', args: () => ({ path: 'places', patch: hunks(8_000) }) },
        ],
      ],
      ['grep', [...withPath('grep', { pattern: 'x' }), ...limited('grep', 'pattern', {}, [65_536]), ...(more['grep'] ?? [])]],
      [
        'bash',
        [
          ...limited('bash', 'cmd', {}, around(BASH_TOOL_MAX_COMMAND_LENGTH)),
          ...texts(around(BASH_TOOL_MAX_ARG_LENGTH)).map(([what, make]) => ({
            what: `bash argument ${what}`,
            args: () => ({ cmd: 'true', args: [make()] }),
          })),
          ...texts(around(BASH_TOOL_MAX_CWD_LENGTH)).map(([what, make]) => ({
            what: `bash cwd ${what}`,
            args: () => ({ cmd: 'true', opts: { cwd: make() } }),
          })),
          ...arrays,
          { what: 'bash floods', args: () => ({ cmd: 'head', args: ['-c', '50000000', '/dev/zero'] }) },
        ],
      ],
    ] as [string, Request[]][]
  ).map(([tool, requests]) => [tool, [...requests, ...shapes(tool, {})]])
}

/** What a tool of one's own is asked for. */
export const anyRequests = (tool: string): Request[] => [
  ...numbers.map((number) => ({ what: `${tool} ${number}`, args: () => ({ value: number }) })),
  ...texts([0, 1_000_000, 1_000_001, 30_000_000]).map(([what, make]) => ({ what: `${tool} ${what}`, args: () => ({ value: make() }) })),
  ...[99, 100, 101, 7_000, 100_000].map((levels) => ({ what: `${tool} ${levels} levels`, args: () => ({ value: nested(levels) }) })),
  ...[19_999, 20_001, 99_998, 100_001].map((length) => ({
    what: `${tool} ${length} items`,
    args: () => ({ value: Array(length).fill(1) }),
  })),
  { what: `${tool} bytes`, args: () => ({ value: new Uint8Array(10_000_000) }) },
  ...shapes(tool, {}),
]
