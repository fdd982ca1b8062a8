import { fetchPrograms, fetchTargets, gitSubcommand, isLoopbackAddress, programName, shells } from './programs.js'
import { type CommandPlace, isLocalPath, registryNeed } from './package-managers.js'
import { gitRemoteRefusal, networkRefusal, packagesRefusal, programRefusal } from './refusal.js'
import { scriptCommands, withoutPrefix } from './script-commands.js'

/** A part of every refused command. Most commands contain none of these, and pass without further checks. */
const traces = /curl|wget|npm|npx|pnp|yarn|bun|pip|uv|git/iu

/** Operations of git that only talk to a remote. */
const remoteOperations: ReadonlySet<string> = new Set(['push', 'pull', 'fetch', 'clone', 'ls-remote'])

/**
 * The rule where the kernel holds the network: a command is refused beforehand only if it can do nothing without the
 * network. All others run, and the kernel keeps them from the network.
 *
 * @throws {ToolError} TOOL_NETWORK_DISABLED or TOOL_GIT_REMOTE_DISABLED
 */
export function refuseNetworkOnly(cmd: string, args: readonly string[], place: CommandPlace): void {
  if (!traces.test(cmd) && !args.some((arg) => traces.test(arg))) return
  const [program = '', ...rest] = withoutPrefix([cmd, ...args])
  const name = programName(program)
  if (!shells.has(name)) return refuseCommand(name, rest, place)
  const at = rest.findIndex((arg) => /^-[a-z]*c$/u.test(arg))
  const commands = at === -1 ? [] : scriptCommands(rest[at + 1] ?? '')
  // After `cd` it is not known which programs are installed where the next command runs.
  const moves = commands.some(([first]) => first === 'cd' || first === 'pushd')
  for (const [first = '', ...others] of commands) {
    refuseCommand(programName(first), others, moves ? { ...place, directory: undefined } : place)
  }
}

function refuseCommand(name: string, args: readonly string[], place: CommandPlace): void {
  if (fetchPrograms.has(name)) {
    const targets = fetchTargets(name, args)
    if (targets.length > 0 && !targets.some(mayBeHere)) throw networkRefusal(name)
  } else if (name === 'git') {
    const operation = gitSubcommand(args)
    if (operation === undefined || !remoteOperations.has(operation)) return
    const after = args.slice(args.indexOf(operation) + 1)
    if (!isLocalRemote(operation, after)) throw gitRemoteRefusal(`git ${operation}`)
  } else {
    const need = registryNeed(name, args, place)
    if (need === undefined) return
    throw need.program === undefined ? packagesRefusal(need.matched) : programRefusal(need.matched, need.program)
  }
}

/** Whether a target of `curl` or `wget` may be one of this machine; a variable may hold anything. */
function mayBeHere(target: string): boolean {
  if (isLocalPath(target) || target.includes('$')) return true
  return isLoopbackAddress(/^[a-z][\w+.-]*:\/\//iu.test(target) ? target : `http://${target}`)
}

/**
 * Whether the remote of a git command may be on this machine. Only the words are judged: looking for a path would tell
 * what exists outside the root.
 */
function isLocalRemote(operation: string, args: readonly string[]): boolean {
  if (args.some((arg) => arg === '--help' || arg === '-h' || arg.includes('$'))) return true
  if (args.some((arg) => /^(?!file:)[a-z][\w+.-]*:\/\/|^[^/]+@[^/]+:/iu.test(arg))) return false
  if (args.some(isLocalPath)) return true
  // `clone` takes no names of remotes: what is neither an address nor `host:path` is a path.
  return operation === 'clone' && args.some((arg) => !arg.startsWith('-') && !/^[^/]*:/u.test(arg))
}
