import type { core } from 'zod/v4'
import { ArgumentProblem, jsonCopy } from '../../../core/argument-copy.js'
import type { AnyTool } from '../tool-definition.js'

/** What does not fit a schema. */
export type Issues = readonly Pick<core.$ZodIssue, 'path' | 'message'>[]

/** As large as arguments may be, before a schema goes through them. */
const limits = { values: 100_000, characters: 20_000_000, depth: 100 }

/** A frozen copy of arguments that are to become JSON. @throws {ArgumentProblem} for what has none, and at the first limit. */
export const boundedArguments = (args: unknown): unknown => jsonCopy(args, limits).value

/**
 * The arguments of a call as `execute` is given them: defaults filled in, unknown keys taken out.
 *
 * @throws {SyntaxError} for what is no JSON.
 */
export async function readArguments(tool: AnyTool, argumentsJson: string): Promise<{ value: unknown } | { error: Issues }> {
  if (tool.args === null) return { value: isEmpty(argumentsJson) ? undefined : void JSON.parse(argumentsJson) }
  const tooMuch = (message: string) => ({ error: [{ path: [], message }] })
  if (argumentsJson.length > 2 * limits.characters)
    return tooMuch(`there are more than ${2 * limits.characters} characters. Call again with less at once`)
  let given: unknown
  try {
    given = isEmpty(argumentsJson) ? {} : JSON.parse(argumentsJson)
    boundedArguments(given)
  } catch (error) {
    if (error instanceof ArgumentProblem) return tooMuch(`${error.message}. Call again with less at once`)
    throw error
  }
  const parsed = await tool.args.safeParseAsync(given)
  return parsed.success ? { value: parsed.data } : { error: parsed.error.issues }
}

const isEmpty = (json: string): boolean => json.trim() === ''

/** What the model is told of arguments that do not fit. */
export function argumentsError(issues: Issues): string {
  return `Tool argument validation failed: ${listIssues(issues)}`
}

/** `[a.b] message; [root] message` */
export function listIssues(issues: Issues): string {
  return issues.map(({ path, message }) => `[${path.map(String).join('.') || 'root'}] ${message}`).join('; ')
}
