import { ToolError } from '../core/errors.js'
import { RequestRefused } from './connection.js'
import { ASK_MS } from './queries.js'
import { ServerRests } from './server-slot.js'

/** The failure of a question to a server, with a next move; `undefined` for an error of another kind. */
export function serverError(error: unknown, limit: AbortSignal): ToolError | undefined {
  const failed = (summary: string, hint: string): ToolError =>
    new ToolError({ code: 'TOOL_LANGUAGE_SERVER_FAILED', summary, hint, cause: error })
  if (error instanceof ServerRests) {
    const seconds = Math.max(Math.ceil(error.restMs / 1_000), 1)
    return failed(
      `The language server has failed: ${error.message}`,
      `It is started again by a call after ${seconds} s. Until then, use grep, or run the compiler.`,
    )
  }
  if (limit.aborted) {
    return failed(
      `The language server has not answered in ${ASK_MS / 1_000} s`,
      'It may be reading the project: call again in a moment, or use grep.',
    )
  }
  if (!(error instanceof RequestRefused)) return undefined
  return failed(`The language server has refused this: ${error.message}`, 'Give another symbol or file, or use grep.')
}
