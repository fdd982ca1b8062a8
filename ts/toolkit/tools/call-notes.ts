/** An image that was read. */
export interface ReadImage {
  mediaType: string
  bytes: Uint8Array
}

/** What a model is shown of one call besides its result. */
export interface CallNote {
  /** Sentences that follow the result. */
  text?: string | undefined
  image?: ReadImage | undefined
}

/** The call that a note belongs to. Providers reuse ids, so tool and subject are part of the key. */
export interface NotedCall {
  toolCallId: string | undefined
  tool: 'read' | 'edit' | 'bash'
  /** The path, or the program that runs. */
  subject: string
}

const MAX_NOTES = 1_000
const MAX_IMAGE_BYTES = 64_000_000

/**
 * The notes of the calls of one set of tools, separate from the results, whose shape is documented. The AI SDK asks
 * for them when it builds the messages of a step, and again when it builds the messages of a stored conversation. The
 * oldest notes are dropped first; notes of other processes are unknown.
 */
export class CallNotes {
  readonly #notes = new Map<string, CallNote>()
  #imageBytes = 0

  set(call: NotedCall, note: CallNote): void {
    if (call.toolCallId === undefined) return
    this.clear(call)
    this.#notes.set(keyOf(call), note)
    this.#imageBytes += note.image?.bytes.byteLength ?? 0
    for (const oldest of this.#notes.keys()) {
      if (this.#notes.size <= MAX_NOTES && this.#imageBytes <= MAX_IMAGE_BYTES) break
      this.#drop(oldest)
    }
  }

  get(call: NotedCall): CallNote {
    return this.#notes.get(keyOf(call)) ?? {}
  }

  /** Forgets what an earlier call with the same key has left. Every call begins with this. */
  clear(call: NotedCall): void {
    this.#drop(keyOf(call))
  }

  #drop(key: string): void {
    this.#imageBytes -= this.#notes.get(key)?.image?.bytes.byteLength ?? 0
    this.#notes.delete(key)
  }
}

const keyOf = ({ toolCallId, tool, subject }: NotedCall): string => JSON.stringify([toolCallId, tool, subject])
