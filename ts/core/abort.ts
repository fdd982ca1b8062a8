/**
 * Waits that an abort or a time limit ends. Work that does not answer must not block the caller, so the wait ends even if the
 * work continues.
 */

/** A value or a promise of it, so that finished work need not make the caller wait. */
export type Awaitable<T> = T | PromiseLike<T>

/** Checks for `then` and not for the class, because a promise of another realm has another class. */
export function isPromiseLike<T>(value: Awaitable<T>): value is PromiseLike<T> {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && 'then' in value
}

/** Continues with a value: at once, or when its promise is fulfilled. */
export function andThen<T, R>(value: Awaitable<T>, then: (value: T) => Awaitable<R>): Awaitable<R> {
  return isPromiseLike(value) ? value.then(then) : then(value)
}

/** Does `work` and continues with its result or error: synchronously if the work is synchronous. */
export function attempt<T, R>(work: () => Awaitable<T>, onValue: (value: T) => R, onError: (error: unknown) => R): Awaitable<R> {
  let value: Awaitable<T>
  try {
    value = work()
  } catch (error) {
    return onError(error)
  }
  return isPromiseLike(value) ? value.then(onValue, onError) : onValue(value)
}

/** A signal that aborts with either of the two. */
export function eitherSignal(a: AbortSignal | null | undefined, b: AbortSignal | null | undefined): AbortSignal | undefined {
  if (!a || !b || a === b) return a ?? b ?? undefined
  return AbortSignal.any([a, b])
}

/** The error of an aborted call, under the name by which the AI SDK knows it. */
export function abortError(reason: unknown): Error {
  const error = new Error('aborted', { cause: reason })
  error.name = 'AbortError'
  return error
}

/**
 * Waits for `work` unless `signal` is aborted.
 *
 * @param graceMs how long the work may still return its result after the abort; an error in that time is ignored. @default 0
 * @throws the signal's reason.
 */
export async function unlessAborted<T>(work: PromiseLike<T>, signal: AbortSignal | undefined, graceMs = 0): Promise<T> {
  if (signal === undefined) return work
  let timer: NodeJS.Timeout | undefined
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const giveUp = (): void => reject(signal.reason)
  const onAbort = (): void => {
    if (graceMs === 0) giveUp()
    else timer = setTimeout(giveUp, graceMs)
  }
  // The work may have aborted the signal before the listener was added.
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  try {
    const value = await Promise.race([work, aborted])
    if (graceMs === 0) signal.throwIfAborted()
    return value
  } catch (error) {
    throw graceMs > 0 && signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', onAbort)
    clearTimeout(timer)
  }
}

/**
 * Waits for `work`, until a time limit or the abort of `signal`.
 *
 * @param work may ask for the signal that ends it. Most work ends before it could use one.
 * @param late makes the error of the time limit.
 * @throws the signal's reason, or the error of `late`.
 */
export async function withinTime<T>(
  work: (signal: () => AbortSignal) => Awaitable<T>,
  limitMs: number,
  signal: AbortSignal | undefined,
  late: () => Error,
): Promise<T> {
  signal?.throwIfAborted()
  const limit = new AbortController()
  let combined: AbortSignal | undefined
  const either = (): AbortSignal => (combined ??= eitherSignal(signal, limit.signal) ?? limit.signal)
  const timer = setTimeout(() => limit.abort(late()), limitMs)
  try {
    const value = work(either)
    if (isPromiseLike(value)) return await unlessAborted(value, either())
    signal?.throwIfAborted()
    return value
  } finally {
    clearTimeout(timer)
  }
}

/** Waits for `work` up to a limit. @returns whether the work is done. */
export async function settledWithin(work: PromiseLike<unknown>, limitMs: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(resolve, limitMs, false)
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}

/** A time limit that several steps share. Time between the steps, such as a prompt, does not count. */
export class TimeBudget {
  readonly #late: () => Error
  #leftMs: number

  constructor(limitMs: number, late: () => Error) {
    this.#leftMs = limitMs
    this.#late = late
  }

  async spend<T>(signal: AbortSignal, step: (either: AbortSignal) => Promise<T>): Promise<T> {
    const start = performance.now()
    try {
      return await withinTime((either) => step(either()), Math.max(0, this.#leftMs), signal, this.#late)
    } finally {
      this.#leftMs -= performance.now() - start
    }
  }
}

/** Slots for concurrent work. Waiting callers get a slot in the order of their arrival. */
export class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  /** Does `work` in a slot. An abort ends the wait for one. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    signal?.throwIfAborted()
    if (this.#free > 0) this.#free -= 1
    else await this.#wait(signal)
    try {
      return await work()
    } finally {
      this.#release()
    }
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    const { promise: slot, resolve: resume } = Promise.withResolvers<void>()
    this.#waiting.push(resume)
    try {
      await unlessAborted(slot, signal)
    } catch (error) {
      const index = this.#waiting.indexOf(resume)
      // The slot may have been passed on in the same moment.
      if (index === -1) this.#release()
      else this.#waiting.splice(index, 1)
      throw error
    }
  }

  #release(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
