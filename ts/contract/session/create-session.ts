import type { Session } from './session.js'
import type { SessionOptions } from './session-options.js'

/**
 * Opens a session.
 *
 * @throws {ToolError} INVALID_INPUT for options that make no sense (a tool without one of its fields, two
 * tools of one id, a locked id); CONTRACT_MANIFEST_INVALID for a requirement with an unknown variable or a
 * pattern that is none; CONTRACT_RULE_INVALID; NATIVE_UNAVAILABLE; what the journal throws.
 */
export async function createSession(options: SessionOptions): Promise<Session> {
  // Importing the package stays cheap: most of its modules serve open sessions.
  const { openSession } = await import('./open-session.js')
  return openSession(options)
}
