/**
 * Outcomes of calls that could not be recorded. They are written again until they stand, or until another one does: a call that has ended
 * must not look as if it ran for as long as its process lives.
 */
import { type Awaitable, attempt } from '../core/abort.js'
import { steadyNow } from '../core/clock.js'
import { ToolError } from '../core/errors.js'
import type { ToolCallEnd, ToolCallRef, ToolCallRow } from './journal-store.js'

/** The pause before the second try, and the longest one. */
const FIRST_MS = 100
const MOST_MS = 2_000

/** After these there is nothing left to write: another outcome stands, or another process has the call. */
const SETTLED: ReadonlySet<string | undefined> = new Set([
  'JOURNAL_CALL_FINISHED',
  'JOURNAL_CALL_MISSING',
  'JOURNAL_OWNER_FENCED',
  'JOURNAL_CLOSED',
])
/** After these the row itself may be what cannot be written: its encoding, its size. */
const OF_THE_ROW: ReadonlySet<string | undefined> = new Set(['JOURNAL_IO_FAILED', 'JOURNAL_ROW_TOO_LARGE', undefined])

const codeOf = (error: unknown): string | undefined => (ToolError.isInstance(error) ? error.code : undefined)

interface Writing {
  readonly closed?: boolean
  updateToolCall(call: ToolCallRef, end: ToolCallEnd): Awaitable<void>
}

/** After so many failures it is tried without its values, too. */
const FAILURES_OF_A_ROW = 4

interface Late {
  ref: ToolCallRef
  end: ToolCallEnd
  failures: number
}

export class LateOutcomes {
  readonly #journal: Writing
  /** What writes when the journal is closed and its store is not yet. */
  readonly #store: Writing | undefined
  readonly #late = new Map<string, Late>()
  #timer: NodeJS.Timeout | undefined
  #pauseMs = FIRST_MS
  #settling: Promise<void> | undefined

  constructor(journal: Writing, store?: Writing) {
    this.#journal = journal
    this.#store = store
  }

  /** Writes an outcome, and remembers it if that fails. @throws what the journal throws */
  write(ref: ToolCallRef, ending: ToolCallEnd): Awaitable<void> {
    // The same time in every try, by which the store knows it again.
    const end = { ...ending, finishedAtMs: ending.finishedAtMs ?? steadyNow() }
    return attempt(
      () => this.#journal.updateToolCall(ref, end),
      () => undefined,
      (error) => {
        if (!SETTLED.has(codeOf(error))) this.#remember({ ref, end, failures: OF_THE_ROW.has(codeOf(error)) ? 1 : 0 })
        throw error
      },
    )
  }

  /** The outcome of a row that has none yet, as far as its store knows. */
  of(row: ToolCallRow): ToolCallRow | undefined {
    const late = this.#late.get(nameOf(row))
    if (late === undefined || (late.ref.startedAtMs !== undefined && late.ref.startedAtMs !== row.startedAtMs)) return undefined
    const { status, outputText, outputJson = null, errorJson = null, finishedAtMs = null, acted = true, keyRead } = late.end
    const output = outputText === undefined ? outputJson : JSON.stringify(outputText)
    const acceptsIdempotencyKey = keyRead === true || row.acceptsIdempotencyKey
    return { ...row, acceptsIdempotencyKey, status, statusText: status, outputJson: output, errorJson, finishedAtMs, acted, isCut: false }
  }

  #remember(late: Late): void {
    this.#late.set(nameOf(late.ref), late)
    this.#pauseMs = FIRST_MS
    this.#schedule()
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    if (this.#late.size > 0) this.#timer = setTimeout(() => void this.settle(), this.#pauseMs).unref()
  }

  /** Whether an outcome is left that was not recorded. */
  get isLeft(): boolean {
    return this.#late.size > 0
  }

  /** Writes once more what is left. */
  settle(): Promise<void> {
    if (this.#late.size === 0) return Promise.resolve()
    return (this.#settling ??= this.#writeAll().finally(() => {
      this.#settling = undefined
      this.#pauseMs = Math.min(MOST_MS, this.#pauseMs * 2)
      this.#schedule()
    }))
  }

  async #writeAll(): Promise<void> {
    for (const [name, late] of this.#late) {
      if ((await this.#isSettled(late)) && this.#late.get(name) === late) this.#late.delete(name)
    }
  }

  /** Writes an outcome whole, or without what the store may not be able to keep. */
  async #isSettled(late: Late): Promise<boolean> {
    const writing = this.#journal.closed === true ? (this.#store ?? this.#journal) : this.#journal
    for (const end of [late.end, withoutValues(late.end)]) {
      try {
        await writing.updateToolCall(late.ref, end)
        return true
      } catch (error) {
        const code = codeOf(error)
        if (SETTLED.has(code)) return true
        if (!OF_THE_ROW.has(code)) return false
        late.failures += 1
        if (late.failures < FAILURES_OF_A_ROW) return false
      }
    }
    return false
  }
}

const nameOf = ({ runId, nodeId, iteration, attempt: number, seq }: ToolCallRef): string =>
  JSON.stringify([runId, nodeId, iteration, number, seq])

/** The outcome without what may not be storable. */
function withoutValues(end: ToolCallEnd): ToolCallEnd {
  const { status, acted, finishedAtMs, keyRead } = end
  if (status === 'success') {
    return {
      status,
      acted,
      finishedAtMs,
      keyRead,
      outputJson: JSON.stringify({ inexact: true, left_out: 'The journal could not keep it.' }),
    }
  }
  const error = { name: 'Error', message: 'The journal could not keep the error of the call' }
  return { status, acted, finishedAtMs, keyRead, errorJson: JSON.stringify(error) }
}

const outcomes = new WeakMap<object, LateOutcomes>()

/** Those of a journal; `store` is what it writes to. */
export function lateOutcomesOf(journal: Writing, store?: Writing): LateOutcomes {
  let late = outcomes.get(journal)
  if (late === undefined) outcomes.set(journal, (late = new LateOutcomes(journal, store)))
  return late
}
