import { ToolError } from '../errors.js'

const orSaySo = 'If the task cannot be done without the network, say so: the host program can allow it (allowNetwork: true).'
const nextMove = `Work with what is on this machine. ${orSaySo}`

/** The refusal of a command that names a network program or an address. */
export function networkRefusal(token: string, hint: string = nextMove): ToolError {
  return refusal('TOOL_NETWORK_DISABLED', 'Network access is disabled for the bash tool', token, hint)
}

/** The refusal of a script of package.json, which a guard of words cannot distinguish from an installation. */
export function scriptRefusal(token: string, instead: string): ToolError {
  return networkRefusal(token, `Run the command of the script itself: ${instead}. ${orSaySo}`)
}

/** The refusal of a git command that talks to a remote. */
export function gitRemoteRefusal(token: string): ToolError {
  const hint = `Work with the commits that are here; a repository on this machine can be named by its path. ${orSaySo}`
  return refusal('TOOL_GIT_REMOTE_DISABLED', 'Git remote operations are disabled for the bash tool', token, hint)
}

/** The refusal of a git command in which a guard of words found the name of a remote operation. */
export function gitWordRefusal(token: string, word: string): ToolError {
  const hint = `A local command runs when none of its words is \`${word}\`: say it in another way. ${orSaySo}`
  return refusal('TOOL_GIT_REMOTE_DISABLED', 'Git remote operations are disabled for the bash tool', token, hint)
}

const MAX_TOKEN_LENGTH = 200

function refusal(code: 'TOOL_NETWORK_DISABLED' | 'TOOL_GIT_REMOTE_DISABLED', summary: string, matched: string, hint: string): ToolError {
  const token = matched.length > MAX_TOKEN_LENGTH ? `${matched.slice(0, MAX_TOKEN_LENGTH)}…` : matched
  return new ToolError({ code, summary, place: `${summary}: matched \`${token}\``, details: { token }, hint })
}
