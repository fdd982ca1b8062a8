import { givenOptions, invalid } from '../../../core/options.js'
import type { WebSearchProvider } from '../search-provider.js'
import { askProvider, resultsOf, baseUrlOf, checkKey } from './provider-request.js'

/** Options of {@link tavily}. */
export interface TavilyOptions {
  apiKey: string
  /** @default 'https://api.tavily.com' */
  baseUrl?: string | undefined
  /** @default 'basic' */
  searchDepth?: 'basic' | 'advanced' | undefined
}

const MAX_COUNT = 20

/**
 * Searches with the Tavily Search API.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid key or baseUrl.
 */
export function tavily(options: TavilyOptions): WebSearchProvider {
  const {
    apiKey,
    baseUrl = 'https://api.tavily.com',
    searchDepth = 'basic',
  } = givenOptions('tavily', options, ['apiKey', 'baseUrl', 'searchDepth'])
  const id = 'tavily'
  const key = checkKey(apiKey, id)
  if (!['basic', 'advanced'].includes(searchDepth)) throw invalid("tavily: searchDepth must be 'basic' or 'advanced'.")
  const { base, host } = baseUrlOf(baseUrl, id)
  return {
    id,
    host,
    async search(query, { max_results, signal }) {
      const url = new URL('search', base)
      const body = { query, max_results: Math.min(max_results, MAX_COUNT), search_depth: searchDepth }
      const answer = (await askProvider({ id, url, headers: { authorization: `Bearer ${key}` }, body, signal })) as {
        results?: unknown
      } | null
      return resultsOf(id, answer?.results).map(({ title, url: at, content }) => ({
        title: String(title ?? ''),
        url: String(at ?? ''),
        snippet: String(content ?? ''),
      }))
    },
  }
}
