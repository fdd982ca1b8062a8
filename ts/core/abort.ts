/** Waits for `work` unless `signal` is aborted: what does not answer must not hold an aborted call. */
export async function unlessAborted<T>(work: PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  let stop: () => void = () => undefined
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
  })
  // The work itself may have aborted, before anybody could listen.
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  try {
    const value = await Promise.race([work, aborted])
    signal.throwIfAborted()
    return value
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
