import { invalid } from '../../../core/options.js'
import { hostOf, portOf } from '../web-url.js'

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
