import type { Limits } from '../limits.js'
import type { RequirementSet } from '../requirements.js'
import { CallCounter } from './call-counter.js'
import type { WebSearchProvider } from './search-provider.js'

/** What the calls of a session share about the web. */
export class SessionWeb {
  readonly fetches: CallCounter
  readonly searches: CallCounter
  /** The one that the session has. */
  readonly provider: WebSearchProvider | undefined
  /** The sets that all must allow, with variables expanded. */
  readonly effective: readonly RequirementSet[]

  constructor(limits: Readonly<Limits>, provider: WebSearchProvider | undefined, effective: readonly RequirementSet[]) {
    this.fetches = new CallCounter('web_fetch', limits.webFetchCalls, 'limits.webFetchCalls')
    this.searches = new CallCounter('web_search', limits.webSearchCalls, 'limits.webSearchCalls')
    this.provider = provider
    this.effective = effective
  }
}
