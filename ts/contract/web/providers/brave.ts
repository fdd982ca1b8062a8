import { checkText, givenOptions } from '../../../core/options.js'
import type { WebSearchProvider } from '../search-provider.js'
import { askProvider, resultsOf, baseUrlOf, checkKey } from './provider-request.js'

/** Options of {@link brave}. */
export interface BraveOptions {
  /** The subscription token. */
  apiKey: string
  /** @default 'https://api.search.brave.com' */
  baseUrl?: string | undefined
  /** Two letters. @default the service's */
  country?: string | undefined
}

/** The service takes no longer query. */
const MAX_CHARACTERS = 400
const MAX_COUNT = 20

/**
 * Searches with the Brave Search API.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid key or baseUrl.
 */
export function brave(options: BraveOptions): WebSearchProvider {
  const { apiKey, baseUrl = 'https://api.search.brave.com', country } = givenOptions('brave', options, ['apiKey', 'baseUrl', 'country'])
  const id = 'brave'
  const key = checkKey(apiKey, id)
  if (country !== undefined) checkText('brave: country', country)
  const { base, host } = baseUrlOf(baseUrl, id)
  return {
    id,
    host,
    async search(query, { max_results, signal }) {
      const url = new URL('res/v1/web/search', base)
      url.searchParams.set('q', query.slice(0, MAX_CHARACTERS))
      url.searchParams.set('count', String(Math.min(max_results, MAX_COUNT)))
      // Without marks of HTML around the words that were found.
      url.searchParams.set('text_decorations', 'false')
      if (country !== undefined) url.searchParams.set('country', country)
      const answer = (await askProvider({ id, url, headers: { 'x-subscription-token': key }, signal })) as {
        web?: { results?: unknown } | null
      } | null
      return resultsOf(id, answer?.web?.results).map(({ title, url: at, description }) => ({
        title: String(title ?? ''),
        url: String(at ?? ''),
        snippet: String(description ?? ''),
      }))
    },
  }
}
