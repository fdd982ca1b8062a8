import type { core } from 'zod/v4'
import type { AnyTool } from '../tool-definition.js'

/** What does not fit a schema. */
export type Issues = readonly Pick<core.$ZodIssue, 'path' | 'message'>[]

/**
 * The arguments of a call as `execute` is given them: defaults filled in, unknown keys taken out.
 *
 * @throws {SyntaxError} for what is no JSON.
 */
export async function readArguments(
  tool: AnyTool,
  argumentsJson: string,
): Promise<{ value: unknown } | { error: Issues }> {
  const given: unknown = argumentsJson.trim() === '' ? {} : JSON.parse(argumentsJson)
  if (tool.args === null) return { value: undefined }
  const parsed = await tool.args.safeParseAsync(given)
  return parsed.success ? { value: parsed.data } : { error: parsed.error.issues }
}

/** What the model is told of arguments that do not fit. */
export function argumentsError(issues: Issues): string {
  return `Tool argument validation failed: ${listIssues(issues)}`
}

/** `[a.b] message; [root] message` */
export function listIssues(issues: Issues): string {
  return issues.map(({ path, message }) => `[${path.map(String).join('.') || 'root'}] ${message}`).join('; ')
}
