import type { Limits } from '../registry/limits.js'
import type { RequirementSet } from '../registry/requirements.js'
import { ContractFailure } from '../registry/envelope.js'
import type { WebSearchProvider } from './search-provider.js'

export interface SessionWeb {
  readonly provider: WebSearchProvider | undefined
  /** The sets that all must allow, with variables expanded. */
  readonly effective: readonly RequirementSet[]
  /** Counts a call, of a session and its subagents together. Throws `limit_reached`, which counts nothing. */
  readonly countFetch: () => void
  readonly countSearch: () => void
}

export function callCounters({ webFetchCalls, webSearchCalls }: Readonly<Limits>): Pick<SessionWeb, 'countFetch' | 'countSearch'> {
  return {
    countFetch: counter('web_fetch', webFetchCalls, 'limits.webFetchCalls'),
    countSearch: counter('web_search', webSearchCalls, 'limits.webSearchCalls'),
  }
}

function counter(tool: string, max: number, option: string): () => void {
  let count = 0
  return () => {
    if (count >= max) {
      throw new ContractFailure(
        'limit_reached',
        `The session's ${max} calls of ${tool} are used up (${option}). Go on with what you have, and say what you could not look up.`,
      )
    }
    count += 1
  }
}
