/** What one conversation has seen of files: kept in the addon, and recorded with its calls. */
import { attemptsInLostForks } from './forked-attempts.js'
import type * as Addon from '../../index.js'
import { oneOf } from '../core/options.js'
import type { Journal } from './journal.js'
import type { TaskId } from './journal-store.js'

/**
 * What happens to a call that would undo changes which the model has not been shown. `refuse`: it is refused once, with the changes in
 * the text. `tell`: it is made, and its result shows what it has undone. `allow`: it is made, and nothing is compared.
 */
export type UnseenChanges = 'refuse' | 'tell' | 'allow'

export const unseenChanges = oneOf('refuse', 'tell', 'allow')

/** The most bytes of a difference in one text. */
const MAX_DIFFERENCE_BYTES = 8_000

interface SeenFilesOptions {
  unseenChanges: 'refuse' | 'tell'
  hasCheckpoints: boolean
  /** The most bytes of a text for the model. @default no limit */
  textBytes?: number | undefined
  /** Where earlier calls of the conversation are recorded. */
  recorded?: { journal: Journal; task: TaskId } | undefined
}

/** The files that one conversation has seen. */
export class SeenFiles {
  readonly #options: SeenFilesOptions
  #native: Addon.SeenFiles | undefined
  #records: string[] = []
  #restoring: Promise<void> | undefined
  #isRestored: boolean

  constructor(options: SeenFilesOptions) {
    this.#options = options
    this.#isRestored = options.recorded === undefined
  }

  /** The addon's own. */
  native(addon: typeof Addon): Addon.SeenFiles {
    if (this.#native !== undefined) return this.#native
    const { unseenChanges: choice, hasCheckpoints, textBytes = Infinity } = this.#options
    const limitBytes = Math.min(MAX_DIFFERENCE_BYTES, textBytes / 2)
    this.#native = new addon.SeenFiles({ unseenChanges: choice, hasCheckpoints, limitBytes })
    if (this.#records.length > 0) this.#native.restore(this.#records)
    return this.#native
  }

  /** Reads what earlier calls have recorded. `undefined` once that is done. */
  ready(): Promise<void> | undefined {
    return this.#isRestored ? undefined : (this.#restoring ??= this.#restore())
  }

  /** What was noted since the last call, for a row. */
  takeRecord(): string | undefined {
    return this.#native?.takeRecord() ?? undefined
  }

  async #restore(): Promise<void> {
    const { recorded } = this.#options
    try {
      if (recorded === undefined) return
      const { runId, nodeId, iteration } = recorded.task
      const rows = await recorded.journal.listToolCalls(runId, nodeId, iteration, { outline: true })
      const lost = attemptsInLostForks(rows)
      this.#records = rows.flatMap(({ seen, attempt }) => (lost.has(attempt) ? [] : (seen ?? [])))
    } catch {
      // Files of earlier calls are as those that were never read. What is wrong with the journal is said where a call is recorded.
    } finally {
      this.#isRestored = true
    }
  }
}
