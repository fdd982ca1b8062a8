import { ContractFailure } from '../../registry/envelope.js'
import { invalid } from '../../../core/options.js'
import { hostOf, portOf } from '../web-url.js'

/** One request to the API of a search provider. */
export interface ProviderRequest {
  id: string
  url: URL
  headers?: Readonly<Record<string, string>> | undefined
  /** Sent as JSON, by POST. */
  body?: unknown
  signal: AbortSignal
}

/** The maximum size of an answer. */
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
  const [{ dial }, { acceptEncoding, readBody }] = await Promise.all([import('../dial.js'), import('../read-body.js')])
  const response = await dial({
    url: url.href,
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/json',
      'accept-encoding': acceptEncoding,
      'user-agent': 'toolwright',
      ...headers,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
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

/** The results of an answer, wherever in it they are. */
export function resultsOf(id: string, results: unknown): Record<string, unknown>[] {
  if (results === undefined || results === null) return []
  if (!Array.isArray(results)) throw failed(id, 'its answer has no list of results')
  return results.filter((result): result is Record<string, unknown> => typeof result === 'object' && result !== null)
}

function failed(id: string, why: string): ContractFailure {
  return new ContractFailure('network_failed', `The search provider ${id} failed: ${why}. Try again later, or go on without.`)
}

/**
 * The base of an API, as its host wrote it.
 *
 * @throws {ToolError} INVALID_INPUT
 */
export function baseUrlOf(text: unknown, id: string): { base: URL; host: string } {
  const base = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  if (base === undefined || !/^https?:$/u.test(base.protocol) || base.username !== '' || base.password !== '' || base.search !== '') {
    throw invalid(`${id} needs a baseUrl such as https://search.example.com, without a password or a query.`)
  }
  base.hash = ''
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  return { base, host: `${hostOf(base)}:${portOf(base)}` }
}

/**
 * A key that can stand in a header.
 *
 * @throws {ToolError} INVALID_INPUT, without the key.
 */
export function checkKey(key: unknown, id: string): string {
  if (typeof key === 'string' && /^[\x21-\x7e]+$/u.test(key)) return key
  throw invalid(`${id} needs an apiKey.`)
}
