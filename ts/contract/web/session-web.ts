import type { Limits } from '../registry/limits.js'
import type { RequirementSet } from '../registry/requirements.js'
import type { WebSearchProvider } from './search-provider.js'
import { ContractFailure } from '../registry/envelope.js'

/** The web access that the calls of a session share. Its subagents share the same counters. */
export class SessionWeb {
  readonly fetches: CallCounter
  readonly searches: CallCounter
  /** The provider of the session. */
  readonly provider: WebSearchProvider | undefined
  /** The sets that all must allow, with variables expanded. */
  readonly effective: readonly RequirementSet[]

  constructor(from: {
    limits: Readonly<Limits>
    provider: WebSearchProvider | undefined
    effective: readonly RequirementSet[]
    /** The web access of the parent. */
    parent: SessionWeb | undefined
  }) {
    const { limits, provider, effective, parent } = from
    this.fetches = parent?.fetches ?? new CallCounter('web_fetch', limits.webFetchCalls, 'limits.webFetchCalls')
    this.searches = parent?.searches ?? new CallCounter('web_search', limits.webSearchCalls, 'limits.webSearchCalls')
    this.provider = provider
    this.effective = effective
  }
}

/** Counts calls up to a limit. */
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
   * Counts one call.
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
