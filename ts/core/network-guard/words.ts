/** The guards that judge words wherever they stand: by tokens or by fragments. */
import { fetchPrograms, gitRemoteOperations, gitSubcommand, packagePrograms, programName } from './programs.js'
import { gitRemoteRefusal, gitWordRefusal, networkRefusal, scriptRefusal } from './refusal.js'

/** A part of every refused token. Most commands contain none of these, and pass without further checks. */
const traces = /curl|wget|npm|bun|pip|git|https?:/iu

/**
 * The rule of documents 000 and 001: every token of the command and its arguments, divided at white
 * space, is checked.
 *
 * @throws {ToolError} TOOL_NETWORK_DISABLED or TOOL_GIT_REMOTE_DISABLED
 */
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

/**
 * The rule of document 002: the command line as one string, searched for fragments.
 *
 * @throws {ToolError} TOOL_NETWORK_DISABLED or TOOL_GIT_REMOTE_DISABLED
 */
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
 * The arguments of `bash` that run the script of a package manager's command without the package manager, as a text for
 * a model; `undefined` where there is no such script, or where it would be refused too.
 */
export function scriptInstead(cmd: string, args: readonly string[], scripts: Scripts): string | undefined {
  const name = scriptName(cmd, args)
  const script = name === undefined ? undefined : scripts()[name]
  if (typeof script !== 'string' || script === '' || script.length > MAX_SCRIPT_LENGTH) return undefined
  const end = args.indexOf('--')
  const rest = end === -1 ? [] : args.slice(end + 1)
  const line = `PATH=node_modules/.bin:$PATH; ${[script, ...rest.map(quoted)].join(' ')}`
  return isRefused('sh', ['-c', line]) ? undefined : `cmd "sh", args ${JSON.stringify(['-c', line])}`
}

const MAX_SCRIPT_LENGTH = 500

function quoted(arg: string): string {
  return /^[\w@%+=:,./-]+$/u.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`
}
