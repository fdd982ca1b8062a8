import type { Session } from './session.js'
import type { SessionOptions } from './session-options.js'
import { loadLate } from '../../core/late-code.js'

const loadSession = loadLate(() => import('./open-session.js'))

/**
 * Opens a session: tools and their access, for one run of an agent.
 *
 * @example
 * ```ts
 * await using session = await createSession({
 *   workspace: './project',
 *   manifest: { name: 'fixer' },
 *   permissions: [...presets.acceptEdits, { permission: 'bash', pattern: 'npm test', action: 'allow' }],
 * })
 * const agent = new ToolLoopAgent({ model, tools: session.tools })
 * ```
 * @throws {ToolError} INVALID_INPUT for invalid options (a tool without one of its fields, two tools with the same id, a locked
 * id); CONTRACT_MANIFEST_INVALID for a requirement with an unknown variable or an invalid pattern;
 * CONTRACT_RULE_INVALID; NATIVE_UNAVAILABLE; errors of the journal, and with `fork: true` those of `openFork`.
 */
export async function createSession(options: SessionOptions): Promise<Session> {
  // Importing the package stays cheap: most of its modules serve open sessions.
  const { openSession } = await loadSession()
  return openSession(options)
}
