/** The rules that smithers-orchestrator documented: by tokens, by commands or by fragments. */
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
import { shellWord } from '../text.js'
import { gitRemoteRefusal, gitWordRefusal, networkRefusal, scriptRefusal } from './refusal.js'

/** Every refused token contains one of these. Most commands contain none, and pass without further checks. */
const traces = /curl|wget|npm|bun|pip|git|https?:/iu

/** The rule `tokens`: every token of the command and its arguments, divided at white space, is checked. */
export function refuseTokens(cmd: string, args: readonly string[], scripts: Scripts = noScripts): void {
  if (!traces.test(cmd) && !args.some((arg) => traces.test(arg))) return
  const tokens = [cmd, ...args].flatMap((text) => text.split(/\s+/u)).filter((token) => token !== '')
  for (const token of tokens) {
    const name = programName(token)
    if (fetchPrograms.has(name) || packagePrograms.has(name) || /^https?:\/\//iu.test(token)) {
      const instead = token === cmd ? scriptInstead(cmd, args, scripts) : undefined
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

const networkFragments = ['curl', 'wget', 'http://', 'https://', 'npm', 'bun', 'pip']
const gitFragments = ['git push', 'git pull', 'git fetch', 'git clone', 'git remote']

/** The rule `fragments`: the command line as one string, searched for fragments. */
export function refuseFragments(cmd: string, args: readonly string[]): void {
  const line = [cmd, ...args].join(' ')
  const network = networkFragments.find((fragment) => line.includes(fragment))
  if (network !== undefined) throw networkRefusal(network)
  const git = gitFragments.find((fragment) => line.includes(fragment))
  if (git !== undefined) throw gitRemoteRefusal(git)
}

/** The scripts of the package.json of the directory that a command runs in, by their names. */
export type Scripts = () => Readonly<Record<string, unknown>>

const scriptAliases: Readonly<Record<string, string>> = {
  t: 'test',
  tst: 'test',
  test: 'test',
  start: 'start',
  stop: 'stop',
  restart: 'restart',
}
const runWords: ReadonlySet<string> = new Set(['run', 'run-script', 'rum', 'urn'])

/** The name of the script that `npm …` or `bun …` would run. */
function scriptName(cmd: string, args: readonly string[]): string | undefined {
  const [first = '', second] = args.filter((arg) => !arg.startsWith('-'))
  if (runWords.has(first)) return second
  return programName(cmd) === 'npm' ? scriptAliases[first] : undefined
}

/**
 * The arguments of `bash` that run the script of a package manager's command without the package manager, as a text for a
 * model; `undefined` if there is no such script, or if it would be refused too.
 */
function scriptInstead(cmd: string, args: readonly string[], scripts: Scripts): string | undefined {
  const name = scriptName(cmd, args)
  const script = name === undefined ? undefined : scripts()[name]
  if (typeof script !== 'string' || script === '' || script.length > MAX_SCRIPT_LENGTH) return undefined
  const end = args.indexOf('--')
  const rest = end === -1 ? [] : args.slice(end + 1)
  const line = `PATH=node_modules/.bin:$PATH; ${[script, ...rest.map(shellWord)].join(' ')}`
  return isRefused('sh', ['-c', line]) ? undefined : `cmd "sh", args ${JSON.stringify(['-c', line])}`
}

const MAX_SCRIPT_LENGTH = 500

/** A command that may run, perhaps with options that keep it on this machine. */
export interface GuardedCommand {
  args: readonly string[]
  /** Variables that keep a fetch program from reading options elsewhere. */
  env: Readonly<Record<string, string>>
}

/**
 * The rule `commands`: a program counts if it is the program of a command, directly or in the script of
 * a shell, but not as an argument. Addresses of this machine are exempt.
 *
 * A server on this machine could redirect a fetch to another machine. A direct `curl` or `wget` therefore gets an
 * option not to follow; in a script, where options cannot be added, a fetch that would follow is refused.
 */
export function guardCommands(cmd: string, args: readonly string[]): GuardedCommand {
  const remote = args.flatMap(addressesIn).find((address) => !isLoopbackAddress(address))
  if (remote !== undefined) throw networkRefusal(remote)

  // A whole command line in `cmd` would not start. This refusal explains more than that failure would.
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

/** Puts the option first, because after a `--` it would be a target. */
function withoutRedirects(name: string, args: readonly string[]): readonly string[] {
  if (name === 'wget') return ['--max-redirect=0', ...args]
  if (name !== 'curl') return args
  if (followsRedirects(args)) throw networkRefusal(name)
  return ['--max-redirs', '0', ...args]
}
