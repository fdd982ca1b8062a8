import type { Checkpoints, CheckpointDiff, ListedCheckpoint } from '../journal/checkpoints/checkpoints.js'
import type { ToolCallRow } from '../journal/journal-store.js'
import { ToolError } from '../core/errors.js'

/** How many checkpoints are listed at once. */
const PAGE = 1_000
/** The longest text of one difference, in bytes. */
const MAX_TEXT = 200_000

/** What calls have changed. */
export interface CallDiffs {
  /** The difference that a call has made; `undefined` if none is known. */
  of(row: ToolCallRow): Promise<CheckpointDiff | undefined>
}

interface Step {
  from: number
  to: ListedCheckpoint
}

/**
 * What calls have changed, by the checkpoints of their directory. A checkpoint belongs to the call that took it; calls that ran at the
 * same time are not told apart.
 */
export class CheckpointDiffs implements CallDiffs {
  readonly #store: Checkpoints
  readonly #steps = new Map<string, Step[]>()
  #newest = 0

  constructor(store: Checkpoints) {
    this.#store = store
  }

  async of(row: ToolCallRow): Promise<CheckpointDiff | undefined> {
    const { callToken, sideEffect, finishedAtMs, startedAtMs } = row
    if (callToken === null || sideEffect === false || finishedAtMs === null) return undefined
    if (!this.#steps.has(callToken)) await this.#read()
    // A call that changes nothing ends with a checkpoint that is older than itself.
    const step = this.#steps.get(callToken)?.find(({ to: { atMs } }) => atMs >= startedAtMs && atMs <= finishedAtMs)
    if (step === undefined) return undefined
    try {
      return await this.#store.diff(step.from, step.to.id, { maxTextBytes: MAX_TEXT })
    } catch (error) {
      // It was collected meanwhile.
      if (ToolError.isInstance(error) && error.code === 'CHECKPOINT_NOT_FOUND') return undefined
      throw error
    }
  }

  /** Reads the checkpoints that have been taken since the last time. */
  async #read(): Promise<void> {
    const added: ListedCheckpoint[] = []
    for (let before: number | undefined; ;) {
      const { checkpoints } = await this.#store.list({ limit: PAGE, before })
      added.push(...checkpoints)
      const last = checkpoints.at(-1)
      if (last === undefined || checkpoints.length < PAGE || last.id <= this.#newest) break
      before = last.id
    }
    for (const [index, to] of added.entries()) {
      const from = added[index + 1]?.id
      if (to.id < this.#newest || from === undefined || to.byOthers || to.changes === 0) continue
      for (const call of to.calls) {
        const steps = this.#steps.get(call) ?? []
        if (!steps.some((step) => step.to.id === to.id)) this.#steps.set(call, [...steps, { from, to }])
      }
    }
    this.#newest = Math.max(this.#newest, ...added.slice(0, 1).map(({ id }) => id))
  }
}
