import {
  addressesIn,
  fetchPrograms,
  fetchTargets,
  followsRedirects,
  gitRemoteOperations,
  gitSubcommand,
  isLoopbackAddress,
  packagePrograms,
  programName,
  shells,
} from './programs.js'
import { gitRemoteRefusal, networkRefusal } from './refusal.js'

/** A command that may run, perhaps with options that keep it on this machine. */
export interface GuardedCommand {
  args: readonly string[]
  /** Variables that keep a fetch program from reading options elsewhere. */
  env: Readonly<Record<string, string>>
}

/**
 * The rule of smithers-orchestrator 0.32.0: programs count where a command stands, directly or in
 * the script of a shell, not where they are mentioned; addresses of this machine are exempt.
 *
 * A server on this machine could redirect a fetch to another machine. A direct `curl` or `wget` therefore gets an
 * option not to follow; in a script, where options cannot be added, a fetch that would follow is refused.
 *
 * @throws {ToolError} TOOL_NETWORK_DISABLED or TOOL_GIT_REMOTE_DISABLED
 */
export function guardCommands(cmd: string, args: readonly string[]): GuardedCommand {
  const remote = args.flatMap(addressesIn).find((address) => !isLoopbackAddress(address))
  if (remote !== undefined) throw networkRefusal(remote)

  // A whole command line in `cmd` would not start; this refusal explains more than that failure.
  const [first = '', ...others] = cmd.trim().split(/\s+/u)
  const names = new Set([programName(cmd.trim()), programName(first)])
  for (const name of names) refuseProgram(name, [...others, ...args])
  const scripted = [...names].some((name) => shells.has(name)) ? scriptCommands(args) : []
  for (const [program = '', ...rest] of scripted) {
    const name = programName(program)
    refuseProgram(name, rest)
    if (name === 'wget' || (name === 'curl' && followsRedirects(rest))) throw networkRefusal(name)
  }
  const env = { CURL_HOME: '/dev/null', WGETRC: '/dev/null' }
  return { args: withoutRedirects(programName(cmd.trim()), args), env }
}

function refuseProgram(name: string, args: readonly string[]): void {
  if (packagePrograms.has(name)) throw networkRefusal(name)
  if (fetchPrograms.has(name)) {
    const targets = [...fetchTargets(name, args), ...args.flatMap(addressesIn)]
    if (targets.length === 0 || !targets.every(isLoopbackAddress)) throw networkRefusal(name)
  }
  if (name === 'git') {
    const operation = gitSubcommand(args)
    if (operation !== undefined && gitRemoteOperations.has(operation)) throw gitRemoteRefusal(`git ${operation}`)
  }
}

/** The commands of every script among a shell's arguments (`-c SCRIPT`, `-lc SCRIPT`). */
function scriptCommands(args: readonly string[]): string[][] {
  return args
    .filter((_, index) => /^-[a-z]*c$/u.test(args[index - 1] ?? ''))
    .flatMap((script) => script.split(/[\n;&|`()]+/u))
    .map((command) => {
      const words = command.split(/\s+/u).filter((word) => word !== '')
      const start = words.findIndex((word) => !/^[A-Za-z_]\w*=/u.test(word))
      return start === -1 ? [] : words.slice(start)
    })
    .filter((words) => words.length > 0)
}

/** The option goes in front: behind a `--` it would be a target. */
function withoutRedirects(name: string, args: readonly string[]): readonly string[] {
  if (name === 'wget') return ['--max-redirect=0', ...args]
  if (name !== 'curl') return args
  if (followsRedirects(args)) throw networkRefusal(name)
  return ['--max-redirs', '0', ...args]
}
