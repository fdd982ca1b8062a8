/** An image that was read. */
export interface ReadImage {
  mediaType: string
  bytes: Uint8Array
}

/** What there is to say to a model of one call, besides its result. */
export interface CallNote {
  /** Sentences that follow the result. */
  text?: string | undefined
  image?: ReadImage | undefined
}

const mostNotes = 1_000
const mostImageBytes = 64_000_000

/**
 * What the calls of one set of tools have to say besides their results, by the ids of the calls: results keep the shape
 * that the documents give them. The SDK asks when it makes the messages of a step, and again when it makes messages of
 * a stored conversation. Of calls that are long over, and of other processes, nothing is known any more.
 */
export class CallNotes {
  readonly #notes = new Map<string, CallNote>()
  #imageBytes = 0

  set(toolCallId: string | undefined, note: CallNote): void {
    if (toolCallId === undefined) return
    this.#drop(toolCallId)
    this.#notes.set(toolCallId, note)
    this.#imageBytes += note.image?.bytes.byteLength ?? 0
    for (const oldest of this.#notes.keys()) {
      if (this.#notes.size <= mostNotes && this.#imageBytes <= mostImageBytes) break
      this.#drop(oldest)
    }
  }

  get(toolCallId: string): CallNote {
    return this.#notes.get(toolCallId) ?? {}
  }

  #drop(toolCallId: string): void {
    this.#imageBytes -= this.#notes.get(toolCallId)?.image?.bytes.byteLength ?? 0
    this.#notes.delete(toolCallId)
  }
}
