/** The error of an aborted call. */
export function aborted(reason: unknown): Error {
  const error = new Error('aborted', { cause: reason })
  // The AI SDK knows an abort by this name.
  error.name = 'AbortError'
  return error
}

/** How long the next call waits for an aborted one, in milliseconds. */
const GRACE_MS = 5_000

/**
 * Waits for a tool. Once it is aborted, the wait is short: the tool may never read `state.stopped`.
 *
 * @returns its result, or `undefined` when the wait ended first.
 */
export async function unlessGivenUp<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  let giveUp: () => void = () => undefined
  const givenUp = new Promise<undefined>((resolve) => {
    giveUp = () => {
      timer = setTimeout(resolve, GRACE_MS, undefined)
    }
  })
  if (signal.aborted) giveUp()
  else signal.addEventListener('abort', giveUp, { once: true })
  try {
    return await Promise.race([work, givenUp])
  } finally {
    signal.removeEventListener('abort', giveUp)
    clearTimeout(timer)
  }
}
