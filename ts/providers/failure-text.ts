import { ToolError } from '../core/errors.js'

/** What a model is told of a failure. */
export function failureText(error: unknown): string {
  if (ToolError.isInstance(error)) return error.message
  if (error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')) return 'The call was aborted.'
  return error instanceof Error ? error.message : String(error)
}
