/** Attempts of a task that worked in a fork: what of their rows is true of the directory. */
import type { ToolCallRow } from './journal-store.js'

/** The call that says that an attempt works in a fork. */
export const FORK_OPEN = 'fork_open'
/** The call that says that all of it is in the directory. An apply alone may have met a conflict. */
export const FORK_DONE = 'fork_done'

/** The attempts whose fork was never applied: the files that they have seen and written are those of that fork. */
export function attemptsInLostForks(rows: readonly ToolCallRow[]): ReadonlySet<number> {
  const attemptsWith = (name: string): Set<number> =>
    new Set(rows.filter(({ toolName, status }) => toolName === name && status === 'success').map(({ attempt }) => attempt))
  const applied = attemptsWith(FORK_DONE)
  return new Set([...attemptsWith(FORK_OPEN)].filter((attempt) => !applied.has(attempt)))
}
