import { refuseWithoutNetwork } from '../native.js'
import { guardCommands, type GuardedCommand, refuseFragments, refuseTokens, type Scripts } from './documented.js'

export type { GuardedCommand }

/** All network guards: the default, then the documented ones. */
export const networkGuards = ['auto', 'tokens', 'commands', 'fragments', 'off'] as const

/**
 * How commands are judged while the network is blocked:
 *
 * - `auto`: where the kernel blocks the network, only a command that can do nothing without it (`npm install`,
 *   `git push`, `curl https://…`) is refused beforehand; elsewhere the same as `tokens`;
 * - `tokens`: any token that is a network program, a web address, or a git remote operation;
 * - `commands`: the same words as the program of a command; this machine's addresses are exempt;
 * - `fragments`: any such text anywhere in the command line;
 * - `off`: not at all.
 */
export type NetworkGuard = (typeof networkGuards)[number]

/** The location of a command. */
export interface CommandLocation {
  /** The absolute working directory; `undefined` if its installed programs are unknown. */
  directory: string | undefined
  /** The directories of `PATH`, in which programs are looked up. */
  path: string | undefined
}

/** The variables of a guard that adds none. */
export const noVariables: Readonly<Record<string, string>> = Object.freeze({})

/** The location for a guard that judges only words. */
const nowhere = { directory: '/', path: undefined, scripts: () => ({}) }

/** Whether a command is refused if the kernel cannot block its network: on Linux. On macOS, this was never measured. */
const kernelHoldsNetwork = process.platform === 'linux'

/**
 * Refuses commands that would need the network, early and with a reason.
 *
 * This is no boundary: a command can reach the network without naming any of these words.
 *
 * @throws {ToolError} TOOL_NETWORK_DISABLED or TOOL_GIT_REMOTE_DISABLED
 */
export function guardNetwork(
  guard: NetworkGuard,
  cmd: string,
  args: readonly string[],
  location: CommandLocation & { scripts: Scripts } = nowhere,
): GuardedCommand {
  if (guard === 'commands') return guardCommands(cmd, args)
  if (guard === 'auto' && kernelHoldsNetwork) refuseWithoutNetwork(cmd, args, location.directory, location.path)
  else if (guard === 'tokens' || guard === 'auto') refuseTokens(cmd, args, location.scripts)
  else if (guard === 'fragments') refuseFragments(cmd, args)
  return { args, env: noVariables }
}
