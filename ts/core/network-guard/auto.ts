import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ToolError } from '../errors.js'
import { fetchPrograms, fetchTargets, gitSubcommand, isLoopbackAddress, programName, shells } from './programs.js'
import { gitRemoteRefusal, networkRefusal, packagesRefusal, programRefusal } from './refusal.js'
import { scriptCommands, withoutPrefix } from './script-commands.js'

/** The location of a command. */
export interface CommandLocation {
  /** The absolute working directory; `undefined` if its installed programs are unknown. */
  directory: string | undefined
  /** The directories of `PATH`, in which programs are looked up. */
  path: string | undefined
}

/** Every refused command contains one of these. Most commands contain none, and pass without further checks. */
const traces = /curl|wget|npm|npx|pnp|yarn|bun|pip|uv|git/iu

/** Operations of git that only talk to a remote. */
const remoteOperations: ReadonlySet<string> = new Set(['push', 'pull', 'fetch', 'clone', 'ls-remote'])

/**
 * The rule for hosts whose kernel blocks the network: a command is refused early only if it can do nothing without the
 * network. All others run, and the kernel blocks their network.
 */
export function refuseNetworkOnly(cmd: string, args: readonly string[], location: CommandLocation): void {
  if (!traces.test(cmd) && !args.some((arg) => traces.test(arg))) return
  const [program = '', ...rest] = withoutPrefix([cmd, ...args])
  const name = programName(program)
  if (!shells.has(name)) return refuseCommand(name, rest, location)
  const at = rest.findIndex((arg) => /^-[a-z]*c$/u.test(arg))
  const commands = at === -1 ? [] : scriptCommands(rest[at + 1] ?? '')
  // After `cd`, the installed programs of the next command's directory are unknown.
  const moves = commands.some(([first]) => first === 'cd' || first === 'pushd')
  for (const [first = '', ...others] of commands) {
    refuseCommand(programName(first), others, moves ? { ...location, directory: undefined } : location)
  }
}

function refuseCommand(name: string, args: readonly string[], location: CommandLocation): void {
  if (fetchPrograms.has(name)) {
    const targets = fetchTargets(name, args)
    if (targets.length > 0 && !targets.some(mayBeHere)) throw networkRefusal(name)
  } else if (name === 'git') {
    const operation = gitSubcommand(args)
    if (operation === undefined || !remoteOperations.has(operation)) return
    const after = args.slice(args.indexOf(operation) + 1)
    if (!isLocalRemote(operation, after)) throw gitRemoteRefusal(`git ${operation}`)
  } else {
    const refusal = registryNeed(name, args, location)
    if (refusal !== undefined) throw refusal
  }
}

/** Whether a target of `curl` or `wget` may be on this machine. A variable may hold any address. */
function mayBeHere(target: string): boolean {
  if (isLocalPath(target) || target.includes('$')) return true
  return isLoopbackAddress(/^[a-z][\w+.-]*:\/\//iu.test(target) ? target : `http://${target}`)
}

/**
 * Whether the remote of a git command may be on this machine. Only the words decide: a look-up of a path would reveal what
 * exists outside the root.
 */
function isLocalRemote(operation: string, args: readonly string[]): boolean {
  if (args.some((arg) => arg === '--help' || arg === '-h' || arg.includes('$'))) return true
  if (args.some((arg) => /^(?!file:)[a-z][\w+.-]*:\/\/|^[^/]+@[^/]+:/iu.test(arg))) return false
  if (args.some(isLocalPath)) return true
  // `clone` takes no names of remotes: anything but an address or `host:path` is a path.
  return operation === 'clone' && args.some((arg) => !arg.startsWith('-') && !/^[^/]*:/u.test(arg))
}

/** Subcommands that talk to a registry, by the manager. */
const registryCommands: Readonly<Record<string, ReadonlySet<string>>> = {
  npm: words(`access add audit adduser ci clean-install cit dedupe deprecate dist-tag dist-tags find i ic in info ins
    install install-ci-test install-test it login org outdated owner ping profile publish s search show star stars team
    token unpublish up update upgrade v view whoami`),
  pnpm: words('add audit dedupe deploy fetch i install import it install-test outdated publish unlink up update upgrade'),
  yarn: words('add audit dedupe info install outdated publish up upgrade upgrade-interactive'),
  bun: words('a add audit i install outdated publish update'),
  pip: words('download index install search wheel'),
  uv: words('add lock publish sync'),
}

/** Subcommands that fetch a program or a template by the name that follows. */
const starters: Readonly<Record<string, ReadonlySet<string>>> = {
  npm: words('create init innit'),
  pnpm: words('create dlx'),
  yarn: words('create dlx'),
  bun: words('create c'),
}

/** Subcommands that run an installed program, or fetch it if it is missing. */
const runners: Readonly<Record<string, ReadonlySet<string>>> = { npm: words('exec x'), bun: words('x') }

/** Programs that run an installed program, or fetch it if it is missing. */
const runnerPrograms: ReadonlySet<string> = new Set(['npx', 'bunx', 'pnpx', 'uvx'])

/** With one of these options a manager works without the network, or does nothing. */
const localOptions: ReadonlySet<string> = new Set('--offline --no-index --no-install --no --dry-run --help -h --version -v'.split(' '))

/**
 * The refusal of a package manager's command that needs a registry: its subcommand can do nothing without one, or the
 * program to run is not installed.
 */
function registryNeed(name: string, args: readonly string[], location: CommandLocation): ToolError | undefined {
  const end = args.indexOf('--')
  if (args.slice(0, end === -1 ? args.length : end).some((arg) => localOptions.has(arg))) return undefined
  if (runnerPrograms.has(name)) return programNeed(name, args, location)
  const [manager, managerArgs] = pip(name, args) ?? [name, args]
  const at = managerArgs.findIndex((arg) => !arg.startsWith('-'))
  const command = at === -1 ? undefined : managerArgs[at]
  // `yarn` alone installs.
  if (manager === 'yarn' && managerArgs.length === 0) return packagesRefusal('yarn')
  if (command === undefined) return undefined
  const rest = managerArgs.slice(at + 1)
  const matched = `${name} ${name === manager ? '' : `${manager} `}${command}`.replace('pip pip ', 'pip ')
  if (runners[manager]?.has(command) === true) return programNeed(`${manager} ${command}`, rest, location)
  const targets = rest.filter((arg) => !arg.startsWith('-'))
  if (starters[manager]?.has(command) === true) return targets.length === 0 ? undefined : packagesRefusal(matched)
  if (registryCommands[manager]?.has(command) !== true) return undefined
  // Packages on this machine can be installed without a registry.
  if (targets.length > 0 && targets.every(isLocalPath)) return undefined
  return packagesRefusal(matched)
}

/** `pip3 …`, `python -m pip …` and `uv pip …` are `pip …`. */
function pip(name: string, args: readonly string[]): [string, readonly string[]] | undefined {
  if (/^pip\d*(?:\.\d+)?$/u.test(name)) return ['pip', args]
  if (/^python\d*(?:\.\d+)?$/u.test(name) && args[0] === '-m' && args[1] === 'pip') return ['pip', args.slice(2)]
  if (name === 'uv' && args[0] === 'pip') return ['pip', args.slice(1)]
  return undefined
}

function programNeed(called: string, args: readonly string[], location: CommandLocation): ToolError | undefined {
  // `-p` and `--package` name what to install, and `-c` a script whose commands are unknown.
  if (args.some((arg) => /^(?:-[a-z]*[pc]|--package|--call|--from|--with)(?:=|$)/u.test(arg))) return undefined
  const program = args.find((arg) => !arg.startsWith('-'))
  if (program === undefined || isLocalPath(program) || isInstalled(program, location)) return undefined
  return programRefusal(`${called} ${program}`, program)
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/u))
}

/** Whether `npx NAME` in a directory finds the program without a registry: in `node_modules/.bin`, or in `PATH`. */
function isInstalled(program: string, { directory, path }: CommandLocation): boolean {
  if (directory === undefined) return true
  if (program.includes('/') || program.includes('\0')) return false
  for (let at = directory; ; at = dirname(at)) {
    if (existsSync(join(at, 'node_modules', '.bin', program))) return true
    if (at === dirname(at)) break
  }
  return (path ?? '').split(':').some((each) => each !== '' && existsSync(join(each, program)))
}

/** Whether a remote, a package or an address is a path of this machine. */
function isLocalPath(text: string): boolean {
  return /^(?:\.{0,2}\/|\.{1,2}$|~|file:)/u.test(text)
}
