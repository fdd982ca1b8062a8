import type { Limits } from '../session/limits.js'
import type { RequirementSet } from '../session/requirements.js'
import { CallCounter } from './call-counter.js'
import type { WebSearchProvider } from './search-provider.js'

/** What the calls of a session share about the web. An agent that it calls has no more than is left of it. */
export class SessionWeb {
  readonly fetches: CallCounter
  readonly searches: CallCounter
  /** The one that the session has. */
  readonly provider: WebSearchProvider | undefined
  /** The sets that all must allow, with variables expanded. */
  readonly effective: readonly RequirementSet[]

  constructor(from: {
    limits: Readonly<Limits>
    provider: WebSearchProvider | undefined
    effective: readonly RequirementSet[]
    /** What the caller of the agent has. */
    parent: SessionWeb | undefined
  }) {
    const { limits, provider, effective, parent } = from
    this.fetches = parent?.fetches ?? new CallCounter('web_fetch', limits.webFetchCalls, 'limits.webFetchCalls')
    this.searches = parent?.searches ?? new CallCounter('web_search', limits.webSearchCalls, 'limits.webSearchCalls')
    this.provider = provider
    this.effective = effective
  }
}
