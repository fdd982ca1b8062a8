/** Programs that fetch what they are told to. */
export const fetchPrograms: ReadonlySet<string> = new Set(['curl', 'wget'])

/** Programs that reach a registry whatever their arguments are. */
export const packagePrograms: ReadonlySet<string> = new Set(['npm', 'bun', 'pip'])

/** Subcommands of git that talk to a remote. */
export const gitRemoteOperations: ReadonlySet<string> = new Set(['push', 'pull', 'fetch', 'clone', 'remote'])

/** The name of a program without its directory. */
export function programName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Programs that run a script given as `-c SCRIPT`. */
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
