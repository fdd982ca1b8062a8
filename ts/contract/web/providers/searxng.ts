import { checkText, givenOptions } from '../../../core/options.js'
import type { WebSearchProvider } from '../search-provider.js'
import { askProvider, resultsOf, baseUrlOf } from './provider-request.js'

/** Options of {@link searxng}. */
export interface SearxngOptions {
  /** Where the instance is: `https://search.example.com`. */
  baseUrl: string
  /** Categories, separated by commas. @default the instance's */
  categories?: string | undefined
  /** @default the instance's */
  language?: string | undefined
}

/**
 * Searches with an instance of SearXNG. Its settings must name `json` among `search.formats`; many public
 * instances do not, and refuse.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid baseUrl.
 */
export function searxng(options: SearxngOptions): WebSearchProvider {
  const { baseUrl, categories, language } = givenOptions('searxng', options, ['baseUrl', 'categories', 'language'])
  const id = 'searxng'
  for (const [name, value] of Object.entries({ categories, language })) {
    if (value !== undefined) checkText(`searxng: ${name}`, value)
  }
  const { base, host } = baseUrlOf(baseUrl, id)
  return {
    id,
    host,
    async search(query, { signal }) {
      const url = new URL('search', base)
      url.searchParams.set('q', query)
      url.searchParams.set('format', 'json')
      if (categories !== undefined) url.searchParams.set('categories', categories)
      if (language !== undefined) url.searchParams.set('language', language)
      const answer = (await askProvider({ id, url, signal })) as { results?: unknown } | null
      return resultsOf(id, answer?.results).map(({ title, url: at, content }) => ({
        title: String(title ?? ''),
        url: String(at ?? ''),
        snippet: String(content ?? ''),
      }))
    },
  }
}
