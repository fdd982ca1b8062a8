import { ContractFailure } from '../registry/envelope.js'
import { type Check, invalid } from '../../core/options.js'
import type { WebSearchResult } from '../registry/tool-runtime.js'
import { hostOf, portOf } from './web-url.js'
import { loadLate } from '../../core/late-code.js'

const loadRequest = loadLate(() => Promise.all([import('./dial.js'), import('./body.js')]))

export interface ProviderRequest {
  id: string
  url: URL
  headers?: Readonly<Record<string, string>> | undefined
  /** Sent as JSON, by POST. */
  body?: unknown
  signal: AbortSignal
}

const ANSWER_BYTES = 4_000_000

const reasons: Readonly<Record<number, string>> = {
  400: 'it does not take the query',
  401: 'it does not take the key',
  402: 'its plan is used up',
  403: 'it refuses the request',
  422: 'it does not take the query',
  429: 'too many requests were made',
  432: 'its plan is used up',
  433: 'its plan is used up',
}

/**
 * Sends a request, and returns the JSON of the answer. No redirect is followed, since it would take the key to another host.
 *
 * @throws {ContractFailure} network_failed, which never holds the key.
 */
export async function askProvider({ id, url, headers = {}, body, signal }: ProviderRequest): Promise<unknown> {
  // Loaded with the first search: importing an adapter shall not load the runtime's modules for the web.
  const [{ dial }, { acceptEncoding, readBody }] = await loadRequest()
  const json = body === undefined ? undefined : JSON.stringify(body)
  const response = await dial({
    url: url.href,
    method: json === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/json',
      'accept-encoding': acceptEncoding,
      'user-agent': 'toolwright',
      ...headers,
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: json,
    signal,
  })
  try {
    const { status } = response
    if (status < 200 || status > 299) throw failed(id, `${reasons[status] ?? 'it gave no results'} (HTTP ${status})`)
    const text = (await readBody(url, response, ANSWER_BYTES, signal)).toString('utf8')
    try {
      return JSON.parse(text) as unknown
    } catch {
      throw failed(id, 'its answer is no JSON')
    }
  } finally {
    response.close()
  }
}

/** The results of an answer. @param snippet the name under which they have their text. */
export function resultsOf(id: string, results: unknown, snippet: string): WebSearchResult[] {
  if (results === undefined || results === null) return []
  if (!Array.isArray(results)) throw failed(id, 'its answer has no list of results')
  const records = results.filter((result): result is Record<string, unknown> => typeof result === 'object' && result !== null)
  const textOf = (value: unknown): string => String(value ?? '')
  return records.map((result) => ({ title: textOf(result['title']), url: textOf(result['url']), snippet: textOf(result[snippet]) }))
}

function failed(id: string, why: string): ContractFailure {
  return new ContractFailure('network_failed', `The search provider ${id} failed: ${why}. Try again later, or go on without.`)
}

/** The base of an API, and its host as a session requires it. */
export const baseUrl: Check<{ base: URL; host: string }> = (value, name) => {
  const base = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
  if (base === undefined || !/^https?:$/u.test(base.protocol) || base.username !== '' || base.password !== '' || base.search !== '') {
    throw invalid(`${name} must be an address such as https://search.example.com, without a password or a query.`)
  }
  base.hash = ''
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  return { base, host: `${hostOf(base)}:${portOf(base)}` }
}
