/**
 * Reading a journal for a person. Other programs may have written rows that nobody can read: each is named and left out, and the rest
 * is shown.
 */
import { ToolError } from '../core/errors.js'
import { printableJson } from '../core/printable.js'
import type { Journal } from '../journal/journal.js'
import type { RunSummary, ToolCallRow } from '../journal/journal-store.js'
import { wholeRows } from '../journal/read-rows.js'

/** What was left out, each in one line. */
export class UnreadCalls {
  readonly lines: string[] = []

  /** @throws the error, if it is none of the row but of the journal. */
  add(what: string, error: unknown): void {
    if (ToolError.isInstance(error) && error.code !== 'JOURNAL_ROW_TOO_LARGE' && error.code !== 'INVALID_INPUT') throw error
    const why = error instanceof Error ? error.message.split('\n', 1)[0] : String(error)
    this.lines.push(`${what} cannot be read and is left out: ${why}`)
  }

  addCall({ row, runId }: ToolCallRow, error: unknown): void {
    this.add(`call ${row} of run ${named(runId)}`, error)
  }

  addRun(runId: string, error: unknown): void {
    this.add(`run ${named(runId)}`, error)
  }

  /** The result of `show` for each row, without the rows for which it throws. */
  shown<Result>(rows: readonly ToolCallRow[], show: (row: ToolCallRow) => Result): Result[] {
    return rows.flatMap((row) => {
      try {
        return [show(row)]
      } catch (error) {
        this.addCall(row, error)
        return []
      }
    })
  }
}

/** How many rows are read alone where a batch of them could not be read. */
const ONE_BY_ONE = 250

const named = (runId: string): string => printableJson(runId.slice(0, 100))

/** The outlines of a run's calls. */
export async function outlinesOfRun(journal: Journal, { runId, calls }: RunSummary, unread: UnreadCalls): Promise<ToolCallRow[]> {
  try {
    const outlines = await journal.listRun(runId, { outline: true })
    // A name of bytes that are no text is shown as another one, which no row has.
    if (outlines.length === 0 && calls > 0) unread.addRun(runId, `its ${calls} calls are not found under this name`)
    return outlines
  } catch (error) {
    unread.addRun(runId, error)
    return []
  }
}

/** The whole rows of outlines, in batches. A batch that cannot be read is read row by row. */
export async function* readableRows(
  journal: Journal,
  outlines: readonly ToolCallRow[],
  unread: UnreadCalls,
): AsyncGenerator<ToolCallRow[], void, undefined> {
  let done = 0
  while (done < outlines.length) {
    try {
      for await (const batch of wholeRows(journal, outlines.slice(done))) {
        yield batch
        // Rows that are gone meanwhile are in no batch.
        done = Math.max(done + batch.length, outlines.findIndex(({ row }) => row === batch.at(-1)?.row) + 1)
      }
      return
    } catch {
      for (const outline of outlines.slice(done, (done += ONE_BY_ONE))) {
        try {
          yield await journal.rows([outline.row])
        } catch (one) {
          unread.addCall(outline, one)
        }
      }
    }
  }
}
