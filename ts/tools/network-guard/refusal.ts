import { ToolError } from '../../errors.js'

const nextMove =
  'Work with what is on this machine; if the task cannot be done without the network, say so: the host program can allow it (allowNetwork: true).'

/** The refusal of a command that names a network program or an address. */
export function networkRefusal(token: string): ToolError {
  return refusal('TOOL_NETWORK_DISABLED', 'Network access is disabled for the bash tool', token)
}

/** The refusal of a git command that talks to a remote. */
export function gitRemoteRefusal(token: string): ToolError {
  return refusal('TOOL_GIT_REMOTE_DISABLED', 'Git remote operations are disabled for the bash tool', token)
}

function refusal(
  code: 'TOOL_NETWORK_DISABLED' | 'TOOL_GIT_REMOTE_DISABLED',
  summary: string,
  matched: string,
): ToolError {
  const longest = 200
  const token = matched.length > longest ? `${matched.slice(0, longest)}…` : matched
  return new ToolError({ code, summary, place: `${summary}: matched \`${token}\``, details: { token }, hint: nextMove })
}
