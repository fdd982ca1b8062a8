import { programName } from './names.js'

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
export function scriptInstead(
  cmd: string,
  args: readonly string[],
  scripts: Scripts,
  isRefused: (cmd: string, args: readonly string[]) => boolean,
): string | undefined {
  const name = scriptName(cmd, args)
  const script = name === undefined ? undefined : scripts()[name]
  if (typeof script !== 'string' || script === '' || script.length > longest) return undefined
  const end = args.indexOf('--')
  const given =
    end === -1
      ? ''
      : args
          .slice(end + 1)
          .map((arg) => ` ${quoted(arg)}`)
          .join('')
  const line = `PATH=node_modules/.bin:$PATH; ${script}${given}`
  return isRefused('sh', ['-c', line]) ? undefined : `cmd "sh", args ${JSON.stringify(['-c', line])}`
}

const longest = 500

function quoted(arg: string): string {
  return /^[\w@%+=:,./-]+$/u.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`
}
