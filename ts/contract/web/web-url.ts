import { ContractFailure } from '../registry/envelope.js'

/**
 * A URL that may be fetched, or the place of a redirect. The parser of the URL standard turns every spelling of
 * an address (decimal, octal, hexadecimal, full-width) into one, so that what is checked is what is dialled.
 *
 * @throws {ContractFailure} invalid_arguments; also for a user name or password: it would be sent, and stand in
 * records and logs.
 */
export function parseWebUrl(text: string, base?: URL): URL {
  let url: URL
  try {
    url = new URL(text, base)
  } catch {
    throw bad(text, 'is no URL', 'Write it whole, for example https://example.com/page')
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    const other = url.protocol === 'file:' ? '; a file of this machine is read by its path, without an address' : ''
    throw bad(text, `has the scheme ${url.protocol}`, `Only http: and https: can be fetched${other}`)
  }
  if (url.username !== '' || url.password !== '') {
    throw bad(url.host, 'has a user name or a password in its URL', 'Leave them out: they are never sent')
  }
  if (url.port === '0') throw bad(url.host, 'has the port 0', 'Name a port that a server can have')
  url.hash = ''
  return url
}

/** The host as it is compared and dialled: without a dot at its end; an address of IPv6 in brackets. */
export const hostOf = (url: URL): string => url.hostname.replace(/\.$/u, '')

/** The port, also where the URL leaves it to its scheme. */
export const portOf = (url: URL): number => (url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port))

function bad(what: string, problem: string, next: string): ContractFailure {
  return new ContractFailure('invalid_arguments', `\`${what.slice(0, 200)}\` ${problem}. ${next}.`)
}
