/** Search providers for `host.webSearch`. */
import { type Checks, must, oneOf, optional, parseOptions, text } from '../../core/options.js'
import { askProvider, baseUrl, resultsOf } from './provider-request.js'
import type { WebSearchProvider } from './search-provider.js'

/** A key that can stand in a header. The error does not have it. */
const apiKey = must<string>((key) => typeof key === 'string' && /^[\x21-\x7e]+$/u.test(key), 'a key that can stand in a header')

/** Options, whose address has been taken apart. */
type Addresses<OPTIONS> = Omit<OPTIONS, 'baseUrl'> & { baseUrl: ReturnType<typeof baseUrl> }

/** The services give no more results. */
const MAX_COUNT = 20

/** Options of {@link brave}. */
export interface BraveOptions {
  /** The subscription token. */
  apiKey: string
  /** @default 'https://api.search.brave.com' */
  baseUrl?: string | undefined
  /** Two letters. @default the service's */
  country?: string | undefined
}

const braveChecks = {
  apiKey,
  baseUrl: optional(baseUrl, baseUrl('https://api.search.brave.com', 'baseUrl')),
  country: optional(text),
} satisfies Checks<Addresses<BraveOptions>>

/** The service takes no longer query. */
const MAX_CHARACTERS = 400

/**
 * Searches with the Brave Search API.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid key or baseUrl.
 */
export function brave(options: BraveOptions): WebSearchProvider {
  const { apiKey: key, baseUrl: api, country } = parseOptions('brave', options, braveChecks)
  const id = 'brave'
  return {
    id,
    host: api.host,
    async search(query, { max_results, signal }) {
      const url = new URL('res/v1/web/search', api.base)
      url.searchParams.set('q', query.slice(0, MAX_CHARACTERS))
      url.searchParams.set('count', String(Math.min(max_results, MAX_COUNT)))
      // Without marks of HTML around the words that were found.
      url.searchParams.set('text_decorations', 'false')
      if (country !== undefined) url.searchParams.set('country', country)
      const answer = (await askProvider({ id, url, headers: { 'x-subscription-token': key }, signal })) as {
        web?: { results?: unknown } | null
      } | null
      return resultsOf(id, answer?.web?.results, 'description')
    },
  }
}

/** Options of {@link searxng}. */
export interface SearxngOptions {
  /** Where the instance is: `https://search.example.com`. */
  baseUrl: string
  /** Categories, separated by commas. @default the instance's */
  categories?: string | undefined
  /** @default the instance's */
  language?: string | undefined
}

const searxngChecks = { baseUrl, categories: optional(text), language: optional(text) } satisfies Checks<Addresses<SearxngOptions>>

/**
 * Searches with an instance of SearXNG. Its settings must name `json` among `search.formats`; many public
 * instances do not, and refuse.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid baseUrl.
 */
export function searxng(options: SearxngOptions): WebSearchProvider {
  const { baseUrl: api, categories, language } = parseOptions('searxng', options, searxngChecks)
  const id = 'searxng'
  return {
    id,
    host: api.host,
    async search(query, { signal }) {
      const url = new URL('search', api.base)
      url.searchParams.set('q', query)
      url.searchParams.set('format', 'json')
      if (categories !== undefined) url.searchParams.set('categories', categories)
      if (language !== undefined) url.searchParams.set('language', language)
      const answer = (await askProvider({ id, url, signal })) as { results?: unknown } | null
      return resultsOf(id, answer?.results, 'content')
    },
  }
}

/** Options of {@link tavily}. */
export interface TavilyOptions {
  /** The key of the service. */
  apiKey: string
  /** @default 'https://api.tavily.com' */
  baseUrl?: string | undefined
  /** @default 'basic' */
  searchDepth?: 'basic' | 'advanced' | undefined
}

const tavilyChecks = {
  apiKey,
  baseUrl: optional(baseUrl, baseUrl('https://api.tavily.com', 'baseUrl')),
  searchDepth: optional(oneOf('basic', 'advanced'), 'basic'),
} satisfies Checks<Addresses<TavilyOptions>>

/**
 * Searches with the Tavily Search API.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid key or baseUrl.
 */
export function tavily(options: TavilyOptions): WebSearchProvider {
  const { apiKey: key, baseUrl: api, searchDepth } = parseOptions('tavily', options, tavilyChecks)
  const id = 'tavily'
  return {
    id,
    host: api.host,
    async search(query, { max_results, signal }) {
      const url = new URL('search', api.base)
      const body = { query, max_results: Math.min(max_results, MAX_COUNT), search_depth: searchDepth }
      const headers = { authorization: `Bearer ${key}` }
      const answer = (await askProvider({ id, url, headers, body, signal })) as { results?: unknown } | null
      return resultsOf(id, answer?.results, 'content')
    },
  }
}
