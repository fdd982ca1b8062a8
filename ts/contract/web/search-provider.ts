import { createHash } from 'node:crypto'
import type { WebSearchResult } from '../registry/tool-runtime.js'
import { callable, type Check, invalid, listOf, text } from '../../core/options.js'
import { ContractFailure, thrownText } from '../registry/envelope.js'
import { withinTime } from '../../core/abort.js'

/** A search service of the host's choice. */
export interface WebSearchProvider {
  /** For messages. */
  id: string
  /** The host it calls, with its port unless that is the default: the session needs access to it. */
  host: string
  /** Searches. Results beyond `max_results` are dropped. */
  search(query: string, options: { max_results: number; signal: AbortSignal }): PromiseLike<readonly WebSearchResult[]>
}

export const MAX_RESULTS = 20
export const DEFAULT_RESULTS = 10

const TITLE_CHARACTERS = 500
const SNIPPET_CHARACTERS = 2_000
const URL_CHARACTERS = 4_000

/** Search providers, which may be objects of classes. */
export const searchProviders: Check<WebSearchProvider[]> = listOf((provider, name) => {
  const { id, host, search } = (provider ?? {}) as Partial<WebSearchProvider>
  text(id, `${name}.id`)
  providerHost(text(host, `${name}.host`))
  callable()(search, `${name}.search`)
  return provider as WebSearchProvider
}, 'an array of search providers, for example searxng({ baseUrl })')

/** The provider of a session. The choice depends on the id alone, so that the session always uses the same one. */
export function chooseProvider(sessionId: string, providers: readonly WebSearchProvider[] = []): WebSearchProvider | undefined {
  if (providers.length === 0) return undefined
  const hash = createHash('sha256').update(sessionId).digest()
  return providers[hash.readUInt32BE(0) % providers.length]
}

/** Splits `example.com:8080` into host and port. The default port is that of HTTPS. */
export function providerHost(host: string): { host: string; port: number } {
  const [, name = '', port] = /^(\[[^\]]+\]|[^:/@?#]+)(?::(\d{1,5}))?$/u.exec(host) ?? []
  const at = Number(port ?? 443)
  if (name === '' || at < 1 || at > 65_535)
    throw invalid(`The search provider's host ${host.slice(0, 200)} is none: write example.com or example.com:8080.`)
  return { host: name, port: at }
}

/** Makes one search, and drops invalid results. @throws {ContractFailure} timeout, network_failed */
export async function searchWith(
  provider: WebSearchProvider,
  query: string,
  { max_results, limitMs, signal }: { max_results: number; limitMs: number; signal: AbortSignal },
): Promise<WebSearchResult[]> {
  const late = (): Error =>
    new ContractFailure('timeout', `The search provider ${provider.id} took longer than ${limitMs} ms. Try again later, or go on without.`)
  let results: unknown
  try {
    results = await withinTime((either) => provider.search(query, { max_results, signal: either() }), limitMs, signal, late)
  } catch (error) {
    signal.throwIfAborted()
    if (ContractFailure.isInstance(error)) throw error
    throw new ContractFailure('network_failed', `The search provider ${provider.id} failed: ${thrownText(error)}`, { cause: error })
  }
  if (!Array.isArray(results)) {
    throw new ContractFailure('network_failed', `The search provider ${provider.id} gave no list of results. Go on without.`)
  }
  return results.flatMap(resultOf).slice(0, max_results)
}

/** Drops an invalid result: the provider is an external service. */
function resultOf(value: unknown): WebSearchResult[] {
  const { title, url, snippet } = (value ?? {}) as Record<string, unknown>
  if (typeof url !== 'string' || url === '' || url.length > URL_CHARACTERS) return []
  return [{ title: clip(title, TITLE_CHARACTERS), url, snippet: clip(snippet, SNIPPET_CHARACTERS) }]
}

function clip(value: unknown, characters: number): string {
  const line = typeof value === 'string' ? value.replace(/\s+/gu, ' ').trim() : ''
  return line.length <= characters ? line : `${line.slice(0, characters).replace(/[\ud800-\udbff]$/u, '')}…`
}
