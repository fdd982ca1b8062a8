import type { ThreadStore } from './thread-store.js'

/** Which bytes to stream, and in which parts. */
export interface StreamOptions {
  /** The first byte. @default 0 */
  start?: number | undefined
  /** The byte after the last one. @default the end */
  end?: number | undefined
  /** The size of the parts. @default 1835008, the size of a stored chunk */
  partBytes?: number | undefined
  /** Stops between two parts. */
  signal?: AbortSignal | undefined
}

/** The size of a stored chunk. */
export const chunkBytes = 1_835_008

/**
 * The bytes of an attachment, one part after the other, with no more than one part in memory.
 *
 * @throws {ToolError} THREAD_ATTACHMENT_NOT_FOUND (also in the middle, when it is deleted),
 * THREAD_NAME_REFUSED.
 */
export async function* streamAttachment(
  store: ThreadStore,
  threadId: string,
  path: string,
  { start = 0, end = Infinity, partBytes = chunkBytes, signal }: StreamOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const step = Number.isFinite(partBytes) ? Math.max(1, Math.floor(partBytes)) : chunkBytes
  for (let from = Math.max(0, Math.floor(start)); from < end;) {
    signal?.throwIfAborted()
    // To the end of a chunk first, so that each of the following parts is in one.
    const to = Math.min(end, step === chunkBytes ? from - (from % chunkBytes) + chunkBytes : from + step)
    const part = await store.readAttachment(threadId, path, { start: from, end: to })
    if (part.byteLength > 0) yield part
    if (part.byteLength < to - from) return
    from = to
  }
}
