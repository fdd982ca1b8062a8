import { setTimeout } from 'node:timers/promises'
import type { TailOptions } from './journal.js'
import type { JournalStore, ToolCallRow } from './journal-store.js'

/** How many rows are read at once: at first, at least and at most. */
const FIRST = 50
const LEAST = 5
const MOST = 500
/** About so many bytes. */
const BYTES = 4 << 20
const POLL_MS = 100

/** Rows as they are written, and again as they get their outcome. */
export async function* tailRows(
  store: JournalStore,
  { runId, after = 0, follow = true, signal, pollMs = POLL_MS }: TailOptions,
): AsyncGenerator<ToolCallRow, void, undefined> {
  signal?.throwIfAborted()
  let last = after === 'end' ? await store.lastRow() : after
  const running = new Set<number>()
  const isWanted = (row: ToolCallRow): boolean => runId === undefined || row.runId === runId
  let wanted = FIRST
  for (;;) {
    const asked = wanted
    const rows = await store.readRows(last, asked)
    wanted = nextCount(rows)
    signal?.throwIfAborted()
    for (const row of rows) {
      last = row.row
      if (!isWanted(row)) continue
      if (row.status === 'started') running.add(row.row)
      yield row
      signal?.throwIfAborted()
    }
    if (rows.length === asked) continue
    if (!follow) return
    for (const row of running.size === 0 ? [] : await store.rows([...running])) {
      if (row.status === 'started') continue
      running.delete(row.row)
      yield row
      signal?.throwIfAborted()
    }
    await pause(pollMs, signal)
  }
}

/** As many rows as are about as long together as is right, by those that came last. */
function nextCount(rows: readonly ToolCallRow[]): number {
  let length = 1
  for (const { inputJson, outputJson, errorJson } of rows)
    for (const text of [inputJson, outputJson, errorJson]) length += text?.length ?? 0
  return Math.max(LEAST, Math.min(MOST, Math.floor((BYTES * Math.max(1, rows.length)) / length)))
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  try {
    await setTimeout(ms, undefined, signal === undefined ? {} : { signal })
  } catch (error) {
    // The timer words an abort in its own way.
    signal?.throwIfAborted()
    throw error
  }
}
