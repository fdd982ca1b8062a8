/**
 * Notes of calls that run and have read their idempotency keys. They are written together a little later: most calls end before, and their
 * outcomes say the same.
 */
import type { Session } from './session.js'
import { prepared, type Statements } from './statements.js'

/** How long notes gather. */
const GATHER_MS = 10

interface KeyNote {
  run_id: string
  number: number
  owner: number
  start: number
}

export class KeyNotes {
  readonly #session: Session
  readonly #statements: Statements
  readonly #notes = new Map<number, KeyNote>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(session: Session, statements: Statements) {
    this.#session = session
    this.#statements = statements
  }

  add(note: KeyNote): void {
    this.#notes.set(note.number, note)
    this.#timer ??= setTimeout(() => void this.settle(), GATHER_MS).unref()
  }

  /** The outcome of the call says it. */
  remove(row: number): void {
    this.#notes.delete(row)
  }

  /** Writes what is noted. It never fails: a call whose note is lost counts as one that has not read its key, until its outcome stands. */
  settle(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#notes.size === 0) return this.#writing
    const notes = JSON.stringify([...this.#notes.values()])
    this.#notes.clear()
    const statement = prepared(`SELECT ${this.#statements.prefix}_toolwright_note_keys($1::text::json)`)
    const written = this.#session
      .run(() => ({ ...statement, values: [notes] }))
      .then(
        () => undefined,
        () => undefined,
      )
    return (this.#writing = Promise.all([this.#writing, written]).then(() => undefined))
  }
}
