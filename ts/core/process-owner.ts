/** Who processes belong to: a call, a session, or whoever else outlives the call that started them. */
import type { KeptProcess } from './kept-process.js'

/**
 * Owns processes, and ends all of them with itself.
 *
 * @example
 * ```ts
 * await using owner = new ProcessOwner()
 * const id = owner.add(await startProcess(limits, start))
 * ```
 */
export class ProcessOwner {
  readonly #processes = new Map<string, KeptProcess>()
  #count = 0
  #isClosed = false

  /** Takes a process over, and gives the name by which it is found here. A closed owner kills it at once. */
  add(process: KeptProcess): string {
    this.#count += 1
    const id = `p${this.#count}`
    if (this.#isClosed) void process.kill()
    else this.#processes.set(id, process)
    return id
  }

  get(id: string): KeptProcess | undefined {
    return this.#processes.get(id)
  }

  /** Gives a process to another owner. */
  release(id: string): KeptProcess | undefined {
    const process = this.#processes.get(id)
    this.#processes.delete(id)
    return process
  }

  /** Every process that it owns, ended ones as well until they are released, in the order in which they came. */
  list(): { id: string; process: KeptProcess }[] {
    return [...this.#processes].map(([id, process]) => ({ id, process }))
  }

  /** Kills all processes, and waits until they are gone. */
  async close(): Promise<void> {
    this.#isClosed = true
    const all = [...this.#processes.values()]
    this.#processes.clear()
    await Promise.all(all.map((process) => process.kill()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
