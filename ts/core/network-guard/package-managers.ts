import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Where a command runs. */
export interface CommandPlace {
  /** An absolute path; `undefined` where it is not known which programs are installed. */
  directory: string | undefined
  /** The directories that programs are looked up in, as `PATH` has them. */
  path: string | undefined
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

/** Subcommands that run an installed program, and fetch it where there is none. */
const runners: Readonly<Record<string, ReadonlySet<string>>> = { npm: words('exec x'), bun: words('x') }

/** Programs that run an installed program, and fetch it where there is none. */
const runnerPrograms: ReadonlySet<string> = new Set(['npx', 'bunx', 'pnpx', 'uvx'])

/** With one of these options a manager works without the network, or does nothing. */
const localOptions: ReadonlySet<string> = new Set('--offline --no-index --no-install --no --dry-run --help -h --version -v'.split(' '))

/** Why a command needs a registry. */
export interface RegistryNeed {
  /** The words that need it. */
  matched: string
  /** The program that would have to be fetched; without one, packages would. */
  program?: string
}

/**
 * What of a package manager's command needs a registry, if anything: a subcommand that can do nothing without one, or a
 * program to run that is not installed.
 */
export function registryNeed(name: string, args: readonly string[], place: CommandPlace): RegistryNeed | undefined {
  const end = args.indexOf('--')
  if (args.slice(0, end === -1 ? args.length : end).some((arg) => localOptions.has(arg))) return undefined
  if (runnerPrograms.has(name)) return programNeed(name, args, place)
  const [manager, managerArgs] = pip(name, args) ?? [name, args]
  const at = managerArgs.findIndex((arg) => !arg.startsWith('-'))
  const command = at === -1 ? undefined : managerArgs[at]
  // `yarn` alone installs.
  if (manager === 'yarn' && managerArgs.length === 0) return { matched: 'yarn' }
  if (command === undefined) return undefined
  const rest = managerArgs.slice(at + 1)
  const matched = `${name} ${name === manager ? '' : `${manager} `}${command}`.replace('pip pip ', 'pip ')
  if (runners[manager]?.has(command) === true) return programNeed(`${manager} ${command}`, rest, place)
  const targets = rest.filter((arg) => !arg.startsWith('-'))
  if (starters[manager]?.has(command) === true) return targets.length === 0 ? undefined : { matched }
  if (registryCommands[manager]?.has(command) !== true) return undefined
  // Packages on this machine can be installed without a registry.
  if (targets.length > 0 && targets.every(isLocalPath)) return undefined
  return { matched }
}

/** `pip3 …`, `python -m pip …` and `uv pip …` are `pip …`. */
function pip(name: string, args: readonly string[]): [string, readonly string[]] | undefined {
  if (/^pip\d*(?:\.\d+)?$/u.test(name)) return ['pip', args]
  if (/^python\d*(?:\.\d+)?$/u.test(name) && args[0] === '-m' && args[1] === 'pip') return ['pip', args.slice(2)]
  if (name === 'uv' && args[0] === 'pip') return ['pip', args.slice(1)]
  return undefined
}

function programNeed(called: string, args: readonly string[], place: CommandPlace): RegistryNeed | undefined {
  // `-p` and `--package` name what to install, and `-c` a script whose commands are unknown.
  if (args.some((arg) => /^(?:-[a-z]*[pc]|--package|--call|--from|--with)(?:=|$)/u.test(arg))) return undefined
  const program = args.find((arg) => !arg.startsWith('-'))
  if (program === undefined || isLocalPath(program) || isInstalled(program, place)) return undefined
  return { matched: `${called} ${program}`, program }
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/u))
}

/** Whether `npx NAME` in a directory finds the program without a registry: in `node_modules/.bin`, or in `PATH`. */
function isInstalled(program: string, { directory, path }: CommandPlace): boolean {
  if (directory === undefined) return true
  if (program.includes('/') || program.includes('\0')) return false
  for (let at = directory; ; at = dirname(at)) {
    if (existsSync(join(at, 'node_modules', '.bin', program))) return true
    if (at === dirname(at)) break
  }
  return (path ?? '').split(':').some((each) => each !== '' && existsSync(join(each, program)))
}

/** Whether a remote, a package or an address is a path of this machine. */
export function isLocalPath(text: string): boolean {
  return /^(?:\.{0,2}\/|\.{1,2}$|~|file:)/u.test(text)
}
