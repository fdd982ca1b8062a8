import type { core } from 'zod/v4'
import en from 'zod/v4/locales/en.js'
import type { AnyTool } from '../tool-definition.js'
import { listIssues } from './read-arguments.js'

/** Variables as a tool's schema gives them; what is wrong with them otherwise. */
export type Tenvs = { value: Record<string, unknown> | undefined } | { error: string }

/**
 * The thread's variables for one call of a tool; `undefined` for a tool that names none. The values are
 * often secrets: no text has one of them, whatever messages the schema's author wrote.
 */
export async function readTenvs(name: string, tool: AnyTool, tenvs: Record<string, unknown>): Promise<Tenvs> {
  if (tool.tenvs === null) return { value: undefined }
  let parsed
  try {
    parsed = await tool.tenvs.safeParseAsync(tenvs)
  } catch {
    // A refinement that throws may say what it has looked at.
    return { error: `Thread environment validation failed: [root] a check of tool "${name}" threw an error` }
  }
  if (parsed.success) return { value: parsed.data }
  const { issues } = parsed.error
  const missing = issues.filter((issue) => isMissing(issue, tenvs))
  const wrong = issues.filter((issue) => !missing.includes(issue))
  const texts = []
  if (missing.length > 0) {
    const names = missing.map(({ path }) => String(path[0])).join(', ')
    texts.push(`Missing required thread environment variables for tool "${name}": ${names}`)
  }
  if (wrong.length > 0) {
    const told = wrong.map((issue) => ({ path: issue.path, message: ownWords(issue, tenvs) }))
    texts.push(`Thread environment validation failed: ${listIssues(told)}`)
  }
  return { error: texts.join('; ') }
}

function isMissing({ path }: core.$ZodIssue, tenvs: Record<string, unknown>): boolean {
  const [name] = path
  return path.length === 1 && name !== undefined && tenvs[String(name)] === undefined
}

const words = en().localeError

/** Zod's own English, which names types and what the schema says, in place of the message. */
function ownWords(issue: core.$ZodIssue, tenvs: Record<string, unknown>): string {
  let input: unknown = tenvs
  for (const key of issue.path) input = (input as Record<PropertyKey, unknown> | null | undefined)?.[key]
  const said = words({ ...issue, input } as core.$ZodRawIssue)
  return (typeof said === 'string' ? said : said?.message) ?? 'Invalid input'
}
