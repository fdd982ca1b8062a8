import type { JournalStore, ToolCallRow } from './journal-store.js'

/** Outputs of about so many bytes are in memory at once. */
const BYTES = 4 << 20
/** How many rows, whatever is in them. */
const SOME = 250
/** A row of another program may not say how long its output is. */
const UNKNOWN = 64 << 10

/** All of the rows whose outlines these are, in their order, some at a time. One that is gone meanwhile is left out. */
export async function* wholeRows(
  store: Pick<JournalStore, 'rows'>,
  outlines: readonly ToolCallRow[],
): AsyncGenerator<ToolCallRow[], void, undefined> {
  let start = 0
  while (start < outlines.length) {
    let end = start
    for (let bytes = 0; end < outlines.length && end - start < SOME && (bytes === 0 || bytes < BYTES); end += 1) {
      const { outputBytes, isCut, inputJson } = outlines[end] as ToolCallRow
      bytes += (isCut ? 0 : (outputBytes ?? 0)) + (isCut || inputJson === null ? UNKNOWN : 2 * inputJson.length) + 1
    }
    const some = outlines.slice(start, end)
    const found = new Map((await store.rows(some.map(({ row }) => row))).map((row) => [row.row, row]))
    yield some.flatMap(({ row }) => found.get(row) ?? [])
    start = end
  }
}
