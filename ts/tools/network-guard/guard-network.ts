import { guardCommands, type GuardedCommand } from './commands.js'
import { refuseFragments } from './fragments.js'
import { refuseTokens } from './tokens.js'

/** Every network guard, in the order of the documents they come from. */
export const networkGuards = ['tokens', 'commands', 'fragments', 'off'] as const

/**
 * How commands are judged while the network is blocked:
 *
 * - `tokens`: any token that is a network program, a web address, or a git remote operation (000, 001);
 * - `commands`: the same where a command stands; this machine's addresses are exempt (0.32.0);
 * - `fragments`: any such text anywhere in the command line (002);
 * - `off`: not at all.
 */
export type NetworkGuard = (typeof networkGuards)[number]

/** Of a guard that adds none. */
export const noVariables: Readonly<Record<string, string>> = Object.freeze({})

/**
 * An early, well explained refusal of commands that would need the network.
 *
 * Not a boundary: a command can reach the network without naming any of these words.
 *
 * @throws {ToolError} TOOL_NETWORK_DISABLED or TOOL_GIT_REMOTE_DISABLED
 */
export function guardNetwork(guard: NetworkGuard, cmd: string, args: readonly string[]): GuardedCommand {
  if (guard === 'commands') return guardCommands(cmd, args)
  if (guard === 'tokens') refuseTokens(cmd, args)
  else if (guard === 'fragments') refuseFragments(cmd, args)
  return { args, env: noVariables }
}
