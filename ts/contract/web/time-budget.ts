import { unlessAborted } from '../../core/abort.js'

/** A time that several steps share. What is between them, such as a prompt, takes none of it. */
export class TimeBudget {
  readonly #late: () => Error
  #leftMs: number

  constructor(limitMs: number, late: () => Error) {
    this.#leftMs = limitMs
    this.#late = late
  }

  /** Does one step within what is left. */
  async spend<T>(signal: AbortSignal, step: (either: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    const start = performance.now()
    const over = new AbortController()
    const timer = setTimeout(() => over.abort(this.#late()), Math.max(0, this.#leftMs))
    const either = AbortSignal.any([signal, over.signal])
    try {
      return await unlessAborted(step(either), either)
    } finally {
      clearTimeout(timer)
      this.#leftMs -= performance.now() - start
    }
  }
}
