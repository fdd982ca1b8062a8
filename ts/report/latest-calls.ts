/** Which calls a report shows: the latest ones, no more than a page and the process that makes it can hold. */
import type { Journal } from '../journal/journal.js'
import type { ToolCallRow } from '../journal/journal-store.js'
import { outlinesOfRun, type UnreadCalls } from './readable-calls.js'
import type { LeftOut } from './report-data.js'

/** Limits of {@link latestCalls}. */
export interface CallLimits {
  /** The most calls of a report. @default 20,000 */
  maxCalls?: number | undefined
  /** The most calls of a run that are listed at once. Those of a larger one are read one after the other. @default 100,000 */
  maxListed?: number | undefined
}

/** The calls of a report, in the order of their runs. */
export interface LatestCalls {
  outlines: ToolCallRow[]
  leftOut: LeftOut | null
}

/** The latest calls of a journal, or of one run of it. What cannot be read is added to `unread`. */
export async function latestCalls(
  journal: Journal,
  runId: string | undefined,
  { maxCalls = 20_000, maxListed = 100_000 }: CallLimits,
  unread: UnreadCalls,
): Promise<LatestCalls> {
  // Each run has a call, so that earlier ones have no place.
  const runs = await journal.listRuns(runId === undefined ? { limit: maxCalls + 1 } : {})
  const isMore = runId === undefined && runs.length > maxCalls
  const parts: ToolCallRow[][] = []
  let room = maxCalls
  let calls = 0
  for (const run of runs.toReversed()) {
    if (runId !== undefined && run.runId !== runId) continue
    if (room > 0) {
      const all = run.calls > maxListed ? await streamedRun(journal, run.runId, room, unread) : await outlinesOfRun(journal, run, unread)
      const part = all.slice(-room)
      parts.push(part)
      room -= part.length
      calls += Math.max(run.calls, all.length) - (all.length === 0 ? run.calls : part.length)
    } else {
      calls += run.calls
    }
  }
  return { outlines: parts.toReversed().flat(), leftOut: calls === 0 && !isMore ? null : { calls, isMore } }
}

/** The last calls of a run, without their texts, while few of its rows are in memory. */
async function streamedRun(journal: Journal, runId: string, count: number, unread: UnreadCalls): Promise<ToolCallRow[]> {
  let last: ToolCallRow[] = []
  // Rows of calls without a side effect are written a little later.
  const cut = (): ToolCallRow[] => last.toSorted((one, other) => one.startedAtMs - other.startedAtMs || one.row - other.row).slice(-count)
  try {
    for await (const row of journal.tail({ runId, follow: false })) {
      last.push({ ...row, inputJson: null, outputJson: null, errorJson: null })
      if (last.length >= 2 * count) last = cut()
    }
  } catch (error) {
    unread.addRun(runId, error)
    return []
  }
  return cut()
}
