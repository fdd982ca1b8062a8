import { fetchPrograms, gitRemoteOperations, gitSubcommand, packagePrograms, programName } from './names.js'
import { type Scripts, scriptInstead } from './package-scripts.js'
import { gitRemoteRefusal, gitWordRefusal, networkRefusal, scriptRefusal } from './refusal.js'

/** What every refused token has in it. Most commands have nothing like it, and are through at once. */
const traces = /curl|wget|npm|bun|pip|git|https?:/iu

/**
 * The rule of documents 000 and 001: every token of the command and its arguments, divided at white
 * space, is looked at.
 *
 * @throws {ToolError} TOOL_NETWORK_DISABLED or TOOL_GIT_REMOTE_DISABLED
 */
export function refuseTokens(cmd: string, args: readonly string[], scripts: Scripts = noScripts): void {
  if (!traces.test(cmd) && !args.some((arg) => traces.test(arg))) return
  const tokens = [cmd, ...args].flatMap((text) => text.split(/\s+/u)).filter((token) => token !== '')
  for (const token of tokens) {
    const name = programName(token)
    if (fetchPrograms.has(name) || packagePrograms.has(name) || /^https?:\/\//iu.test(token)) {
      const instead = token === cmd ? scriptInstead(cmd, args, scripts, isRefused) : undefined
      throw instead === undefined ? networkRefusal(token) : scriptRefusal(token, instead)
    }
  }
  if (!tokens.some((token) => programName(token) === 'git')) return
  const operation = tokens.find((token) => gitRemoteOperations.has(token))
  if (operation === undefined) return
  const words = `git … ${operation}`
  const isMention = programName(cmd) === 'git' && gitSubcommand(args) !== operation
  throw isMention ? gitWordRefusal(words, operation) : gitRemoteRefusal(words)
}

const noScripts: Scripts = () => ({})

function isRefused(cmd: string, args: readonly string[]): boolean {
  try {
    refuseTokens(cmd, args)
    return false
  } catch {
    return true
  }
}
