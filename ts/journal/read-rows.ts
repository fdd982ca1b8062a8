/** Reading many rows in batches, so that the outputs of few of them are in memory at once. */
import { setTimeout } from 'node:timers/promises'
import { invalid } from '../core/options.js'
import type { TailOptions } from './journal.js'
import type { JournalStore, ToolCallRow } from './journal-store.js'

/** How many bytes one batch should have. */
const BATCH_BYTES = 4 << 20
/** The rows of a batch: in the first one of a tail, at least, and at most. */
const FIRST_ROWS = 50
const MIN_ROWS = 5
const MAX_ROWS = 500
/** The most rows that are fetched by their numbers at once. */
const MAX_WHOLE_ROWS = 250
/** How many rows without an outcome a tail looks at again, the oldest ones. */
const MAX_RUNNING = 10_000
/** The assumed size of an output whose row does not tell it: another program wrote it. */
const UNKNOWN_BYTES = 64 << 10

/** Rows as they are written, and again as they get their outcome. */
export async function* tailRows(
  store: JournalStore,
  { runId, after = 0, follow = true, signal, pollMs = 100 }: TailOptions,
): AsyncGenerator<ToolCallRow, void, undefined> {
  signal?.throwIfAborted()
  let cursor = after === 0 ? undefined : String(after)
  if (after === 'end') ({ cursor } = await store.readSince('end', 1))
  const running = new Set<number>()
  let nextLimit = FIRST_ROWS
  for (;;) {
    const limit = nextLimit
    const { rows, cursor: next } = await store.readSince(cursor, limit)
    cursor = next
    nextLimit = batchSize(rows)
    signal?.throwIfAborted()
    for (const row of rows) {
      if (runId !== undefined && row.runId !== runId) continue
      if (row.status === 'started') running.add(row.row)
      yield row
      signal?.throwIfAborted()
    }
    if (rows.length === limit) continue
    if (!follow) return
    for (const row of running.size === 0 ? [] : await store.rows([...running].slice(0, MAX_RUNNING))) {
      if (row.status === 'started') continue
      running.delete(row.row)
      yield row
      signal?.throwIfAborted()
    }
    // The timer throws an error of its own for an abort.
    await setTimeout(pollMs, undefined, signal === undefined ? {} : { signal }).catch(() => signal?.throwIfAborted())
  }
}

/** The number that a cursor of a store with ordered numbers stands for. @throws {ToolError} INVALID_INPUT */
export function cursorNumber(cursor: string | undefined): number {
  const number = Number(cursor ?? 0)
  if (!Number.isSafeInteger(number) || number < 0 || cursor === '') throw invalid('The cursor must be one that readSince gave.')
  return number
}

/** How many rows make a batch of the right size, judged by the last batch. */
function batchSize(rows: readonly ToolCallRow[]): number {
  let length = 1
  for (const { inputJson, outputJson, errorJson } of rows)
    for (const text of [inputJson, outputJson, errorJson]) length += text?.length ?? 0
  return Math.max(MIN_ROWS, Math.min(MAX_ROWS, Math.floor((BATCH_BYTES * Math.max(1, rows.length)) / length)))
}

/** The whole rows of these outlines, in their order and in batches. Rows that are gone meanwhile are left out. */
export async function* wholeRows(
  store: Pick<JournalStore, 'rows'>,
  outlines: readonly ToolCallRow[],
): AsyncGenerator<ToolCallRow[], void, undefined> {
  let start = 0
  while (start < outlines.length) {
    let end = start
    for (let bytes = 0; end < outlines.length && end - start < MAX_WHOLE_ROWS && (bytes === 0 || bytes < BATCH_BYTES); end += 1) {
      const { outputBytes, isCut, inputJson } = outlines[end] as ToolCallRow
      bytes += (isCut ? 0 : (outputBytes ?? 0)) + (isCut || inputJson === null ? UNKNOWN_BYTES : 2 * inputJson.length) + 1
    }
    const batch = outlines.slice(start, end)
    const byNumber = new Map((await store.rows(batch.map(({ row }) => row))).map((row) => [row.row, row]))
    yield batch.flatMap(({ row }) => byNumber.get(row) ?? [])
    start = end
  }
}
