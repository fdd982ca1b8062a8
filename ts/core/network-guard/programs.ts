/** Programs that fetch their targets. */
export const fetchPrograms: ReadonlySet<string> = new Set(['curl', 'wget'])

/** Programs that may reach a registry with any arguments. */
export const packagePrograms: ReadonlySet<string> = new Set(['npm', 'bun', 'pip'])

/** Subcommands of git that talk to a remote. */
export const gitRemoteOperations: ReadonlySet<string> = new Set(['push', 'pull', 'fetch', 'clone', 'remote'])

/** The name of a program without its directory. */
export function programName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Programs that run a script, as `-c SCRIPT`. */
export const shells: ReadonlySet<string> = new Set(['sh', 'bash', 'zsh', 'dash', 'ash', 'ksh'])

/** Options of git that stand before the subcommand and take the next argument. */
const gitValueOptions: ReadonlySet<string> = new Set(['-C', '-c', '--exec-path', '--git-dir', '--namespace', '--work-tree'])

/** The subcommand among git's arguments. */
export function gitSubcommand(args: readonly string[]): string | undefined {
  const rest = args.values()
  for (const arg of rest) {
    if (gitValueOptions.has(arg)) rest.next()
    else if (!arg.startsWith('-')) return arg
  }
  return undefined
}

/**
 * Options whose next argument is local: a file, a header, a limit. Options that name an endpoint, such as a proxy, are
 * missing on purpose, so that their argument is judged as a target.
 */
const localOptions: Readonly<Record<string, ReadonlySet<string>>> = {
  curl: new Set(
    `-A --user-agent -b --cookie -c --cookie-jar --cacert --cert --connect-timeout -d --data --data-ascii
     --data-binary --data-raw --data-urlencode -H --header --key --max-time -o --output --retry -u --user -w
     --write-out -X --request`.split(/\s+/u),
  ),
  wget: new Set(
    `--body-data --ca-certificate --certificate --header --method -O --output-document -P --directory-prefix
     --password --post-data --timeout --tries --user --user-agent`.split(/\s+/u),
  ),
}

/** The targets that `curl` or `wget` would fetch with these arguments. */
export function fetchTargets(program: string, args: readonly string[]): string[] {
  const local = localOptions[program]
  const targets: string[] = []
  const rest = args.values()
  for (const arg of rest) {
    if (arg === '--') return [...targets, ...rest]
    if (program === 'curl' && arg === '--url') {
      const { value } = rest.next()
      if (value !== undefined) targets.push(value)
    } else if (program === 'curl' && arg.startsWith('--url=')) {
      targets.push(arg.slice('--url='.length))
    } else if (local?.has(arg) === true) {
      rest.next()
    } else if (!arg.startsWith('-')) {
      targets.push(arg)
    }
  }
  return targets
}

/** Whether `curl` may follow a server's redirect, by an option or by a configuration file. */
export function followsRedirects(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  const options = end === -1 ? args : args.slice(0, end)
  return options.some((arg) => /^--(?:location|location-trusted|config)(?:=|$)/u.test(arg) || arg.startsWith('-K') || /^-[^-]*L/u.test(arg))
}

/** The web addresses that an argument is, or that it gives to an option as `--option=ADDRESS`. */
export function addressesIn(arg: string): string[] {
  const value = arg.startsWith('-') && arg.includes('=') ? arg.slice(arg.indexOf('=') + 1) : arg
  return /^https?:\/\//iu.test(value) ? [value] : []
}

/** Whether a web address names this machine: `localhost`, `*.localhost`, 127/8, `::1`, `0.0.0.0`. */
export function isLoopbackAddress(address: string): boolean {
  if (!URL.canParse(address)) return false
  const host = new URL(address).hostname.toLowerCase()
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || host === '0.0.0.0' || /^127(?:\.\d{1,3}){3}$/u.test(host)
  )
}
