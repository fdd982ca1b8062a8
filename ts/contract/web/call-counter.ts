import { ContractFailure } from '../call/codes.js'

/** Counts what may be done so many times in a session. */
export class CallCounter {
  readonly #most: number
  readonly #what: string
  readonly #option: string
  #made = 0

  constructor(what: string, most: number, option: string) {
    this.#what = what
    this.#most = most
    this.#option = option
  }

  /**
   * Takes one, at once: between the look and the count nothing else runs.
   *
   * @throws {ContractFailure} limit_reached, which counts nothing.
   */
  take(): void {
    if (this.#made >= this.#most) {
      throw new ContractFailure(
        'limit_reached',
        `The session's ${this.#most} calls of ${this.#what} are used up (${this.#option}). Go on with what you have, and say what you could not look up.`,
      )
    }
    this.#made += 1
  }
}
