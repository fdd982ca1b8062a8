import type { PatchedFile } from '../registry/tool-runtime.js'

/** What a call did to a file. A text is absent where it is unknown: too long, binary, or changed again at once. */
export interface FileChange {
  /** As the call names it; after a move, the new path. */
  path: string
  change: PatchedFile['change']
  /** The path before a move. */
  movedFrom?: string | undefined
  before?: string | undefined
  after?: string | undefined
}

/** How many bytes of text are kept of the files of one call: they are for diffs that a person reads. */
const MAX_TEXT = 2_000_000

/** Changes by the envelope of their call. Hosts see them; models and journals do not. */
const changes = new WeakMap<object, readonly FileChange[]>()

/** The changes of one call, as they are made. */
export class CallChanges {
  readonly #changes: FileChange[] = []
  #size = 0

  /** Whether there is room for the texts of another file. */
  get hasRoom(): boolean {
    return this.#size < MAX_TEXT
  }

  add(change: FileChange): void {
    this.#size += (change.before?.length ?? 0) + (change.after?.length ?? 0)
    this.#changes.push(change)
  }

  attachTo<T extends object>(envelope: T): T {
    if (this.#changes.length > 0) changes.set(envelope, this.#changes)
    return envelope
  }
}

/** What the call of an envelope did to files, if somebody observed the session. */
export const changesOf = (envelope: object | undefined): readonly FileChange[] | undefined =>
  envelope === undefined ? undefined : changes.get(envelope)
