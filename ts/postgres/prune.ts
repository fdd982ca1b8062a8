/** Removing old runs. */
import { type Checks, must, optional, wholeNumber } from '../core/options.js'
import { oldRuns, removeRuns } from './old-runs.js'
import { makeDays, oldDays, removeDay } from './old-days.js'
import type { Session } from './session.js'
import type { Statements } from './statements.js'

/** Which runs are removed. */
export interface PruneOptions {
  /** Runs whose last call began and ended before this time, in milliseconds since 1970. */
  beforeMs: number
  /** The most rows of one transaction. @default 5000 */
  batchRows?: number | undefined
}

/** A time. */
export const time = must<number>(Number.isFinite, 'a time in milliseconds since 1970')

export const pruneChecks = { beforeMs: time, batchRows: optional(wholeNumber(1), 5_000) } satisfies Checks<PruneOptions>

/**
 * Removes whole runs: days whose runs are all over together with their partition, others a few rows at a time. Runs with a call
 * that has no outcome stay.
 *
 * @returns the number of rows
 */
export async function pruneRuns(session: Session, statements: Statements, beforeMs: number, batchRows: number): Promise<number> {
  let removed = 0
  if (statements.isByDay) {
    await makeDays(session, statements)
    for (const day of await oldDays(session, statements, beforeMs)) removed += (await removeDay(session, statements, day, beforeMs)) ?? 0
  }
  for await (const runs of oldRuns(session, statements, beforeMs)) {
    removed += await removeRuns(session, statements, runs, beforeMs, batchRows)
  }
  return removed
}
