/** What a call throws that was aborted. */
export function aborted(reason: unknown): Error {
  const error = new Error('aborted', { cause: reason })
  // The name by which the AI SDK and everybody else know it.
  error.name = 'AbortError'
  return error
}

/** How long an aborted call is waited for before the next one begins, in milliseconds. */
const GRACE_MS = 5_000

/**
 * Waits for a tool; once it is aborted, for a moment only, because it may never look at
 * `state.stopped`.
 *
 * @returns what it gave; `undefined` when it was given up.
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
