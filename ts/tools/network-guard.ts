import { posix } from 'node:path'
import { ToolError } from '../errors.js'

const networkPrograms = new Set(['curl', 'wget', 'npm', 'bun', 'pip'])
const gitRemoteOperations = new Set(['push', 'pull', 'fetch', 'clone', 'remote'])

/**
 * Refuses commands that name a network program, a web address or a git remote operation.
 *
 * An early and well explained refusal, not a boundary: a command can reach the network without
 * naming any of these.
 *
 * @throws {ToolError} TOOL_NETWORK_DISABLED or TOOL_GIT_REMOTE_DISABLED
 */
export function refuseNetworkTokens(cmd: string, args: readonly string[]): void {
  const tokens = [cmd, ...args].flatMap((text) => text.split(/\s+/u)).filter((token) => token !== '')
  for (const token of tokens) {
    if (networkPrograms.has(posix.basename(token))) {
      throw refusal('TOOL_NETWORK_DISABLED', 'Network access is disabled for the bash tool', token)
    }
    if (/^https?:\/\//iu.test(token)) {
      throw refusal('TOOL_NETWORK_DISABLED', 'Network access is disabled for the bash tool', token)
    }
  }
  if (!tokens.some((token) => posix.basename(token) === 'git')) return
  const operation = tokens.find((token) => gitRemoteOperations.has(token))
  if (operation !== undefined) {
    throw refusal(
      'TOOL_GIT_REMOTE_DISABLED',
      'Git remote operations are disabled for the bash tool',
      `git … ${operation}`,
    )
  }
}

function refusal(
  code: 'TOOL_NETWORK_DISABLED' | 'TOOL_GIT_REMOTE_DISABLED',
  summary: string,
  token: string,
): ToolError {
  return new ToolError({
    code,
    summary,
    place: `${summary}: matched \`${token}\``,
    details: { token },
    hint: 'Work with what is on this machine; if the task cannot be done without the network, say so: it is allowed with allowNetwork: true (--allow-network).',
  })
}
