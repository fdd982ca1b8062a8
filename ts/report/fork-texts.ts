/** What calls about forks have changed, for a reader: one line for each path. */

const SIGNS: Readonly<Record<string, string>> = { created: '+', modified: '~', deleted: '-' }

/** The lines of the output of `fork_apply` or `fork_undo`; nothing for another output. */
export function forkLines(toolName: string, output: unknown): string | undefined {
  if (toolName !== 'fork_apply' && toolName !== 'fork_undo') return undefined
  const { applied, undone, conflicts, leftOut } = recordOf(output)
  const changed = toolName === 'fork_apply' ? applied : undone
  if (!Array.isArray(changed) || !Array.isArray(conflicts)) return undefined
  const left = Array.isArray(leftOut) ? leftOut : []
  const lines = [
    ...changed.map((change) => `${lineOf(change)}${recordOf(change)['isMerged'] === true ? ' (merged)' : ''}`),
    ...conflicts.map((change) => `${lineOf(change)} (conflict: ${String(recordOf(change)['conflict'])})`),
    ...left.map((one) => `! ${String(recordOf(one)['path'])} (left out: ${String(recordOf(one)['reason'])})`),
  ]
  return lines.length === 0 ? 'nothing has changed' : lines.join('\n')
}

function lineOf(change: unknown): string {
  const { kind, path, type } = recordOf(change)
  return `${SIGNS[String(kind)] ?? '?'} ${String(path)}${type === 'directory' ? '/' : ''}`
}

/** The fork that a call is about, and the paths that it is bound to. */
export function shownFork({ fork, paths }: Record<string, unknown>): string | undefined {
  if (typeof fork !== 'string') return undefined
  return Array.isArray(paths) ? `${fork}: ${paths.map(String).join(', ')}` : fork
}

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
