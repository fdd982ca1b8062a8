import { unlessAborted } from '../unless-aborted.js'

/**
 * Waits for what somebody else does, but not for ever: an abort ends it with the signal's reason, the limit
 * with what `late` gives.
 */
export async function withinTime<T>(
  work: (signal: AbortSignal) => T | PromiseLike<T>,
  limitMs: number,
  signal: AbortSignal,
  late: () => Error,
): Promise<T> {
  signal.throwIfAborted()
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(late()), limitMs)
  try {
    const either = AbortSignal.any([signal, over.signal])
    return await unlessAborted(Promise.resolve(work(either)), either)
  } finally {
    clearTimeout(timer)
  }
}
