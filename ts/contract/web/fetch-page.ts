import type { FetchOptions, WebPage } from '../registry/tool-runtime.js'
import { ContractFailure } from '../registry/envelope.js'
import { dial, type WebRequest, type WebResponse } from './dial.js'
import { networkFailure } from './network-failure.js'
import { acceptEncoding, decodeText, isHtml, isTextType, parseContentType, readBody } from './body.js'
import type { DialableHost } from './resolve-host.js'
import { TimeBudget } from '../../core/abort.js'
import { toMarkdown } from './to-markdown.js'
import { hostOf, parseWebUrl, portOf } from './web-url.js'

export interface FetchScope {
  signal: AbortSignal
  /** Capabilities, rules and user, for one host. */
  reach(host: string, port: number): Promise<void>
  resolve(url: URL, signal: AbortSignal): Promise<DialableHost>
  /** Counts the fetch. Called once, right before the first request. */
  count(): void
  request?: ((request: WebRequest) => PromiseLike<WebResponse>) | undefined
  limitMs: number
  rawBytes: number
}

const MAX_REDIRECTS = 10
const ACCEPT = 'text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.5'
const redirects = new Set([301, 302, 303, 307, 308])
/** Headers that frame a message or choose a connection. Callers cannot set them. */
const ownHeaders = /^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|keep-alive|accept-encoding|proxy-.*)$/iu

/**
 * Fetches a URL as text. Each hop is checked before it is dialled: host, rules, address. Binary content is described, and
 * not downloaded.
 *
 * @throws {ContractFailure} invalid_arguments, capability_refused, permission codes, limit_reached, too_large,
 * network_failed, timeout.
 */
export async function fetchPage(start: string, { headers = {}, raw = false }: FetchOptions, scope: FetchScope): Promise<WebPage> {
  const { signal, request = dial } = scope
  let url = parseWebUrl(start)
  const budget = new TimeBudget(scope.limitMs, () => late(url, scope.limitMs))
  let own = checkHeaders(headers)
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const at = url
    await scope.reach(hostOf(at), portOf(at))
    const { addresses, special } = await budget.spend(signal, (either) => scope.resolve(at, either))
    // A name that resolves to a private address is also a call to that address.
    for (const address of special) await scope.reach(address, portOf(at))
    if (hop === 0) scope.count()
    const sent = { 'user-agent': 'toolwright', accept: ACCEPT, ...own, 'accept-encoding': acceptEncoding }
    const step = await budget.spend(signal, async (either): Promise<WebPage | URL> => {
      const response = await answerOf(at, () => request({ url: at.href, method: 'GET', headers: sent, addresses, signal: either }), either)
      try {
        const { location } = response.headers
        if (redirects.has(response.status) && typeof location === 'string') return parseWebUrl(location, at)
        return await pageOf(at, response, { raw, rawBytes: scope.rawBytes, signal: either })
      } finally {
        response.close()
      }
    })
    if (!(step instanceof URL)) return step
    url = step
    if (url.origin !== at.origin) own = {}
  }
  throw new ContractFailure('network_failed', `\`${url.host}\` redirects more than ${MAX_REDIRECTS} times. Use another source.`)
}

async function answerOf(url: URL, request: () => PromiseLike<WebResponse>, signal: AbortSignal): Promise<WebResponse> {
  try {
    return await request()
  } catch (error) {
    signal.throwIfAborted()
    throw networkFailure(url, error)
  }
}

async function pageOf(url: URL, response: WebResponse, how: { raw: boolean; rawBytes: number; signal: AbortSignal }): Promise<WebPage> {
  const { status, headers } = response
  const content = parseContentType(String(headers['content-type'] ?? ''))
  const page = { url: url.href, status, content_type: content.type }
  if (isTextType(content.type) === false) return { ...page, text: binaryNote(content.type, headers['content-length']) }
  const bytes = await readBody(url, response, how.rawBytes, how.signal)
  const text = decodeText(bytes, content)
  if (text === undefined) return { ...page, text: binaryNote(content.type, bytes.length) }
  const isPage = isHtml(content.type) || (content.type === '' && /^\s*<(?:!doctype html|html)\b/iu.test(text))
  return { ...page, text: isPage && !how.raw ? await toMarkdown(text, url.href, how.signal) : text }
}

function binaryNote(type: string, length: unknown): string {
  const size = /^\d+$/u.test(String(length)) ? `, ${String(length)} bytes` : ''
  return `[binary content: ${type === '' ? 'of no known type' : type}${size}; it is no text and is not shown]`
}

function checkHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const own: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (ownHeaders.test(name) || !/^[A-Za-z0-9-]{1,100}$/u.test(name) || !/^[\t\x20-\x7e]*$/u.test(value)) {
      throw new ContractFailure('invalid_arguments', `The header \`${name.slice(0, 100)}\` cannot be sent. Leave it out.`)
    }
    own[name.toLowerCase()] = value
  }
  return own
}

function late(url: URL, limitMs: number): ContractFailure {
  return new ContractFailure('timeout', `\`${url.host}\` took longer than ${limitMs} ms. Try again later, or use another source.`)
}
