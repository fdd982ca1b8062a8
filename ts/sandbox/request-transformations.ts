/** Headers that requests of commands get outside of the sandbox, as harnesses of the AI SDK ask for them. */
import { checked, type Check, type Checks, group, invalid, listOf, optional, string, text } from '../core/options.js'
import type { RequestTransform } from '../core/sandbox-credentials.js'
import type { KeyValueMatcher, RequestTransformation, TextMatcher } from './network-types.js'

const matcher: Check<TextMatcher> = (value, name) => {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : []
  const [[kind, expected] = []] = entries
  if (entries.length !== 1 || !['exact', 'startsWith', 'regex'].includes(kind ?? '') || typeof expected !== 'string')
    throw invalid(`${name} must have exactly one of exact, startsWith and regex, with a text.`)
  return value as TextMatcher
}

const pair = group({ key: optional(matcher), value: optional(matcher) } satisfies Checks<KeyValueMatcher>)

/** The messages do not have values. */
const headers: Check<Record<string, string>> = (value, name) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(`${name} must be an object of headers.`)
  const all = Object.entries(value)
  if (all.length === 0) throw invalid(`${name} must have at least one header.`)
  for (const [header, content] of all) string(content, `${name}[${JSON.stringify(header)}]`)
  return { ...(value as Record<string, string>) }
}

const transformation = group({
  match: group({
    host: text,
    path: optional(matcher),
    method: optional(listOf(text)),
    queryString: optional(listOf(pair)),
    headers: optional(listOf(pair)),
  }),
  transform: group({ headers }),
} satisfies Checks<RequestTransformation>)

const list = listOf(transformation, 'an array of transformations')

/** Reads a list for the addon. @throws {ToolError} INVALID_INPUT */
export function readTransformations(caller: string, value: readonly RequestTransformation[]): RequestTransform[] {
  return checked(caller, () => list(value, 'transformations').map(transformOf))
}

function transformOf({ match, transform }: RequestTransformation): RequestTransform {
  return {
    host: match.host,
    ...(match.path && { path: matchOf(match.path) }),
    methods: [...(match.method ?? [])],
    query: (match.queryString ?? []).map(pairOf),
    headers: (match.headers ?? []).map(pairOf),
    set: Object.entries(transform.headers).flat(),
  }
}

const pairOf = ({ key, value }: KeyValueMatcher): RequestTransform['query'][number] => ({
  ...(key && { key: matchOf(key) }),
  ...(value && { value: matchOf(value) }),
})

function matchOf(one: TextMatcher): NonNullable<RequestTransform['path']> {
  const [[kind, expected] = ['exact', '']] = Object.entries(one)
  return { kind: kind as 'exact' | 'startsWith' | 'regex', text: expected }
}
