/** Values that are given on as they come, while a step gathers them. */

/** A queue that is read while it is filled. */
export class LiveValues<T> {
  readonly #values: T[] = []
  #wake: (() => void) | undefined
  #isOver = false

  push(value: T): void {
    this.#values.push(value)
    this.#wake?.()
  }

  end(): void {
    this.#isOver = true
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (;;) {
      while (this.#values.length > 0) yield this.#values.shift() as T
      if (this.#isOver) return
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}

/** The preliminary results of a call as they come, and its kept result at the end. */
export async function* streamed(
  call: (onProgress: (value: unknown) => void) => Promise<unknown>,
): AsyncGenerator<unknown, void, undefined> {
  const live = new LiveValues<unknown>()
  const made = call((value) => live.push(value)).finally(() => live.end())
  // It is awaited below, after the values before it.
  made.catch(() => undefined)
  let last: { value: unknown } | undefined
  for await (const value of live) yield (last = { value }).value
  const output = await made
  // The last value of a generator is its result.
  if (last === undefined || !isSame(last.value, output)) yield output
}

function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  try {
    return JSON.stringify(one) === JSON.stringify(other)
  } catch {
    return false
  }
}
