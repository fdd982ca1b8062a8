import { setTimeout } from 'node:timers/promises'
import type { TailOptions } from './journal.js'
import type { JournalStore, ToolCallRow } from './journal-store.js'

/** How many rows are read at once. */
const AT_ONCE = 500
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
  for (;;) {
    const rows = await store.readRows(last, AT_ONCE)
    signal?.throwIfAborted()
    for (const row of rows) {
      last = row.row
      if (!isWanted(row)) continue
      if (row.status === 'started') running.add(row.row)
      yield row
      signal?.throwIfAborted()
    }
    if (rows.length === AT_ONCE) continue
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
