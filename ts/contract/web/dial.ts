import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { type LookupFunction, isIPv6 } from 'node:net'
import { networkFailure } from './network-failure.js'

/** One request. No redirect is followed. */
export interface WebRequest {
  url: string
  method: 'GET' | 'POST'
  headers: Readonly<Record<string, string>>
  body?: string | undefined
  /** Where to dial, checked: the name must not be looked up again. Without it, wherever the name leads. */
  addresses?: readonly string[] | undefined
  signal: AbortSignal
}

/** Its answer; the body as it was sent, not decompressed. */
export interface WebResponse {
  status: number
  /** By names in lower case. */
  headers: Readonly<Record<string, string | readonly string[] | undefined>>
  body: AsyncIterable<Uint8Array>
  /** Ends the connection, whatever is still to come. */
  close(): void
}

/**
 * Makes one request on a connection of its own, to the given addresses. Uses `node:http`, since not every runtime's `fetch`
 * lets the caller choose the address.
 *
 * @throws {ContractFailure} network_failed; the reason of the signal.
 */
export function dial({ url: text, method, headers, body, addresses, signal }: WebRequest): Promise<WebResponse> {
  const url = new URL(text)
  const { request } = url.protocol === 'https:' ? https : http
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error)
      return
    }
    // Without an agent, no connection is reused, and no proxy of the environment is used.
    const made = request(url, {
      method,
      agent: false,
      headers: { ...headers, connection: 'close', ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }) },
      ...(addresses === undefined ? {} : { lookup: pinned(addresses) }),
    })
    const stop = (): void => void made.destroy(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
    const over = (): void => signal.removeEventListener('abort', stop)
    // Covers the case of neither an answer nor an error, as after a protocol upgrade.
    made.once('close', () => {
      over()
      reject(signal.aborted ? (signal.reason as Error) : networkFailure(url, { code: 'ECONNRESET' }))
    })
    made.on('error', (error) => {
      over()
      reject(signal.aborted ? (signal.reason as Error) : networkFailure(url, error))
    })
    made.once('response', (response: IncomingMessage) => {
      // The reader of the body gets its errors. Errors of a closed body do not matter.
      response.on('error', () => undefined)
      const close = (): void => {
        over()
        response.destroy()
        made.destroy()
      }
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: response, close })
    })
    made.end(body)
  })
}

function pinned(addresses: readonly string[]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  return (_host, options, done) => {
    const [first] = entries
    if (options.all === true) done(null, entries)
    else done(null, first?.address ?? '', first?.family)
  }
}
