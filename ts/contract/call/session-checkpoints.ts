import type { ModelMessage } from 'ai'
import type { CheckpointChange, Checkpoints } from '../../journal/checkpoints/checkpoints.js'
import { KnownFiles } from '../../journal/checkpoints/known-files.js'
import type { Envelope } from '../registry/envelope.js'

/** The most changes that a result has. */
const MAX_CHANGES = 1_000

/** The checkpoints of one session: one for each turn, and around each call that changes something. */
export class SessionCheckpoints {
  readonly checkpoints: Checkpoints
  readonly #known: KnownFiles
  #turn = 0

  constructor(checkpoints: Checkpoints) {
    this.checkpoints = checkpoints
    this.#known = new KnownFiles(checkpoints.dir)
  }

  /** A step begins. A turn begins with a message of the user, and is named by the number of these messages: `ID/turn-1`. */
  async nextStep(sessionId: string, messages: readonly ModelMessage[]): Promise<void> {
    const turn = messages.filter(({ role }) => role === 'user').length
    if (turn === this.#turn) return
    await this.checkpoints.beginTurn(`${sessionId}/turn-${turn}`)
    this.#turn = turn
  }

  /** Makes a call between two checkpoints. */
  around<T>(id: string, signal: AbortSignal, make: () => Promise<T>): Promise<{ returned: T; changed: CheckpointChange[] }> {
    let changed: CheckpointChange[] = []
    const onChanged = (all: CheckpointChange[]): void => void (changed = all)
    return this.checkpoints.track(id, make, { signal, onChanged }).then((returned) => ({ returned, changed }))
  }

  /** A file was read. */
  noteRead(path: unknown, root: string | undefined): void {
    if (typeof path === 'string' && root !== undefined) this.#known.add(path, root)
  }

  /** Adds to the result of a command what it has changed. */
  attach(envelope: Envelope, changed: readonly CheckpointChange[]): Envelope {
    if (changed.length === 0 || envelope.type !== 'output') return envelope
    const { metadata } = envelope
    metadata.changed = changed.slice(0, MAX_CHANGES).map(({ path, kind }) => ({ path, kind }))
    const more = changed.length - MAX_CHANGES
    const notes = [this.#known.staleNote(changed), more > 0 ? `The command changed ${more} more paths.` : undefined]
    const told = notes.filter((note) => note !== undefined)
    if (told.length > 0) metadata.notes = [...(metadata.notes ?? []), ...told]
    return envelope
  }
}
