import type { ToolCallRow } from '../../journal/journal-store.js'

/** How a call ended; `refused` is an error of a call that had not done anything yet. */
export type Ending = ToolCallRow['status'] | 'refused'

/** How a call ended. */
export function endingOf({ status, acted }: ToolCallRow): Ending {
  return status === 'error' && !acted ? 'refused' : status
}

/** How long a call took. Never less than nothing, though clocks are set back. */
export function durationOf({ startedAtMs, finishedAtMs }: ToolCallRow): number | null {
  return finishedAtMs === null ? null : Math.max(0, finishedAtMs - startedAtMs)
}
