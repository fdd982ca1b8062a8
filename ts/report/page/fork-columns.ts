/** The forks of a journal side by side: which agent changed what. */
import type { FileChange, ForkWork, ReportCall } from '../report-data.js'
import { taskName } from './words.js'

/** One fork. */
export interface ForkColumn {
  id: string
  /** Who worked in it: a subagent, or a task or agent of the journal. */
  name: string
  /** What became of it. */
  state: ForkWork['what']
  /** The last call about it. */
  last: ReportCall
  /** By path. */
  changes: ReadonlyMap<string, FileChange['kind']>
  /** How many more paths it has changed. */
  more: number
}

/** What is known of the forks that calls are about, in the order of their first calls. */
export function forkColumns(calls: readonly ReportCall[]): ForkColumn[] {
  const columns = new Map<string, ForkColumn>()
  for (const call of calls) {
    const { fork } = call
    if (fork === null) continue
    const known = columns.get(fork.id)
    const name = fork.agent ?? known?.name ?? call.agent ?? taskName(call)
    // What was undone or refused says nothing more of what the fork has changed.
    const says = fork.changes.length > 0 && (known === undefined || known.changes.size === 0 || fork.what === 'changed')
    columns.set(fork.id, {
      id: fork.id,
      name,
      state: stateAfter(known?.state, fork.what),
      last: call,
      changes: says ? new Map(fork.changes.map(({ path, kind }) => [path, kind])) : (known?.changes ?? new Map()),
      more: says ? fork.more : (known?.more ?? 0),
    })
  }
  return [...columns.values()]
}

/** A fork that was applied is discarded afterwards, which takes nothing back. */
const stateAfter = (before: ForkWork['what'] | undefined, now: ForkWork['what']): ForkWork['what'] =>
  now === 'discarded' && before === 'applied' ? 'applied' : now

/** The paths that forks have changed: those that most of them have in common first. */
export function forkPaths(columns: readonly ForkColumn[]): string[] {
  const counts = new Map<string, number>()
  for (const { changes } of columns) for (const path of changes.keys()) counts.set(path, (counts.get(path) ?? 0) + 1)
  return [...counts].sort(([one, times], [other, more]) => more - times || (one < other ? -1 : 1)).map(([path]) => path)
}
