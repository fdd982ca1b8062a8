import type { Step } from 'toolwright/durable'

/** The smallest engine: it keeps what steps return, in the order in which they begin, and may lose the last ones. */
export class ToyEngine {
  readonly #kept: { name: string; value: string }[] = []

  /** The steps of one execution. `onStep` is called when a step was carried out and nothing is kept of it yet. */
  steps(onStep?: (name: string) => Promise<void> | void): Step {
    let next = 0
    return async <T>(name: string, fn: () => Promise<T>): Promise<T> => {
      const index = next
      next += 1
      const kept = this.#kept[index]
      if (kept !== undefined) {
        if (kept.name !== name) throw new Error(`step ${index} was ${kept.name}, and is ${name}`)
        return JSON.parse(kept.value) as T
      }
      const value = await fn()
      await onStep?.(name)
      this.#kept[index] = { name, value: JSON.stringify(value) ?? 'null' }
      return JSON.parse(this.#kept[index].value) as T
    }
  }

  /** Forgets the steps from the first one with this name on. */
  forget(name: string): void {
    const index = this.#kept.findIndex((one) => one?.name.startsWith(name))
    if (index !== -1) this.#kept.length = index
  }
}
