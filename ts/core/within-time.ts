import { unlessAborted } from './abort.js'

/**
 * Waits for what somebody else does, but not for ever: an abort ends it with the signal's reason, the limit
 * with what `late` gives. `work` asks for its signal if it has a use for one: most answers are there at once.
 */
export async function withinTime<T>(
  work: (signal: () => AbortSignal) => T | PromiseLike<T>,
  limitMs: number,
  signal: AbortSignal,
  late: () => Error,
): Promise<T> {
  signal.throwIfAborted()
  const over = new AbortController()
  let either: AbortSignal | undefined
  const combined = (): AbortSignal => (either ??= AbortSignal.any([signal, over.signal]))
  const timer = setTimeout(() => over.abort(late()), limitMs)
  try {
    const given = work(combined)
    if (isPromiseLike(given)) return await unlessAborted(given, combined())
    signal.throwIfAborted()
    return given
  } finally {
    clearTimeout(timer)
  }
}

function isPromiseLike<T>(given: T | PromiseLike<T>): given is PromiseLike<T> {
  return (typeof given === 'object' || typeof given === 'function') && given !== null && 'then' in given
}
