/** The owner of processes, such as a call or a session. */
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

  /** Takes over a process and returns its name in this owner. A closed owner kills the process at once. */
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

  /** All processes of this owner in the order of their arrival, including ended ones until they are released. */
  list(): { id: string; process: KeptProcess }[] {
    return [...this.#processes].map(([id, process]) => ({ id, process }))
  }

  /** Kills all processes, and waits until they have ended. */
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
