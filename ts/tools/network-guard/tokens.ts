import { fetchPrograms, gitRemoteOperations, packagePrograms, programName } from './names.js'
import { gitRemoteRefusal, networkRefusal } from './refusal.js'

/** What every refused token has in it. Most commands have nothing like it, and are through at once. */
const traces = /curl|wget|npm|bun|pip|git|https?:/iu

/**
 * The rule of documents 000 and 001: every token of the command and its arguments, divided at white
 * space, is looked at.
 *
 * @throws {ToolError} TOOL_NETWORK_DISABLED or TOOL_GIT_REMOTE_DISABLED
 */
export function refuseTokens(cmd: string, args: readonly string[]): void {
  if (!traces.test(cmd) && !args.some((arg) => traces.test(arg))) return
  const tokens = [cmd, ...args].flatMap((text) => text.split(/\s+/u)).filter((token) => token !== '')
  for (const token of tokens) {
    const name = programName(token)
    if (fetchPrograms.has(name) || packagePrograms.has(name) || /^https?:\/\//iu.test(token)) {
      throw networkRefusal(token)
    }
  }
  if (!tokens.some((token) => programName(token) === 'git')) return
  const operation = tokens.find((token) => gitRemoteOperations.has(token))
  if (operation !== undefined) throw gitRemoteRefusal(`git … ${operation}`)
}
