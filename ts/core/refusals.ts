import { actedCodes, type ToolErrorCode, toolErrorCodes } from './codes.js'
import { ToolError } from './errors.js'

/**
 * With which codes a built-in tool refuses a call before it has done anything. Such a call is no
 * effect: a retry is not warned of it.
 */
export const isRefusal = Object.fromEntries(toolErrorCodes.map((code) => [code, !actedCodes.includes(code)])) as Readonly<
  Record<ToolErrorCode, boolean>
>

/** Whether a built-in tool that threw this has done nothing. */
export function wasRefused(error: unknown): boolean {
  if (!ToolError.isInstance(error) || error.details['started'] === true) return false
  return Object.hasOwn(isRefusal, error.code) && isRefusal[error.code]
}
