/** What Zod finds in arguments, in the words of the validator of JSON Schema: these are what the words for models are made from. */
import type { z } from 'zod'

type Issue = z.core.$ZodRawIssue
type Path = readonly PropertyKey[]

/** The findings, as `/path: …`. */
export const findingsOf = (issues: readonly Issue[], args: unknown): string[] => issues.flatMap((issue) => finding(issue, [], args))

function finding(issue: Issue, above: Path, args: unknown): string[] {
  const path = [...above, ...(issue.path ?? [])]
  const at = pointer(path)
  const where = at === '' ? '/' : at
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => `${at}${pointer([key])}: there is no such property`)
    case 'invalid_type': {
      const value = valueAt(args, path)
      const name = path.at(-1)
      if (value === undefined && name !== undefined)
        return [`${pointer(path.slice(0, -1)) || '/'}: Instance does not have required property "${String(name)}"`]
      return [`${where}: Instance type "${typeOf(value)}" is invalid. Expected "${issue.expected === 'int' ? 'integer' : issue.expected}"`]
    }
    case 'invalid_union':
      // An optional number may be 0 as well: the first form is the one that its tool defines.
      return (issue.errors[0] ?? []).flatMap((one) => finding(one as Issue, path, args))
    case 'too_small':
      return [issue.origin === 'string' && issue.minimum === 1 ? `${where}: String is too short (0 < 1)` : `${where}: ${limit(issue)}`]
    case 'too_big':
      return [`${where}: ${limit(issue)}`]
    case 'invalid_value':
      return [`${where}: Instance does not match any of ${JSON.stringify(issue.values)}`]
    default:
      return [`${where}: ${issue.message ?? 'it does not fit'}`]
  }
}

function limit(issue: Extract<Issue, { code: 'too_small' | 'too_big' }>): string {
  const isLow = issue.code === 'too_small'
  const bound = String(isLow ? issue.minimum : issue.maximum)
  const what = ['number', 'int', 'bigint'].includes(issue.origin) ? 'it' : `the length of this ${issue.origin}`
  return `${what} must be ${isLow ? 'at least' : 'at most'} ${bound}`
}

const valueAt = (args: unknown, path: Path): unknown =>
  path.reduce<unknown>((value, name) => (value as Record<PropertyKey, unknown> | null | undefined)?.[name], args)

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** A JSON pointer. */
const pointer = (path: Path): string => path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
