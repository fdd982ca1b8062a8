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
