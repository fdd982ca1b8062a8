import { lookup as systemLookup } from 'node:dns/promises'
import { unlessAborted } from '../../core/abort.js'
import { ContractFailure } from '../call/codes.js'
import type { RequirementSet } from '../session/requirements.js'
import { type AddressClasses, loadAddressClasses } from './address-class.js'
import { networkFailure } from './network-failure.js'
import { hostOf, portOf } from './web-url.js'

/** Names to addresses. */
export type HostLookup = (host: string, options: { signal: AbortSignal }) => readonly string[] | PromiseLike<readonly string[]>

/** Where a URL may be dialled. */
export interface DialableHost {
  /** Only these; the name is not looked up again. */
  addresses: string[]
  /** Those that are none of the public internet, for which the rules are asked by their address too. */
  special: string[]
}

/**
 * Looks a host up once and keeps those addresses that may be dialled: public ones, or else ones that every set
 * of the session's capabilities names as an address. A name cannot stand for a private address, since whoever
 * owns the name chooses where it leads; but `localhost` stands for loopback.
 *
 * @throws {ContractFailure} capability_refused, network_failed
 */
export async function resolveHost(
  url: URL,
  effective: readonly RequirementSet[],
  lookup: HostLookup | undefined,
  signal: AbortSignal,
): Promise<DialableHost> {
  const classes = await loadAddressClasses()
  const host = hostOf(url)
  const literal = classes.normal(host)
  const found = literal === undefined ? await addressesOf(host, url, lookup, signal) : [literal]
  const all = [...new Set(found.map((address) => classes.normal(address)).filter((address) => address !== undefined))]
  if (all.length === 0) throw new ContractFailure('network_failed', `The name \`${host}\` has no address. Check its spelling.`)
  const open = all.filter((address) => classes.special(address) === undefined)
  if (open.length > 0) return { addresses: open, special: [] }
  const isLocal = host === 'localhost' || host.endsWith('.localhost')
  const local = isLocal ? all.filter((address) => classes.special(address) === 'loopback') : []
  if (local.length > 0) return { addresses: local, special: [] }
  const granted = all.filter((address) => isGranted(address, portOf(url), effective, classes))
  if (granted.length > 0) return { addresses: granted, special: literal === undefined ? granted : [] }
  const [kind] = all.map((address) => classes.special(address))
  const what = literal === undefined ? `\`${host}\` leads to an address that is` : `\`${host}\` is`
  throw new ContractFailure(
    'capability_refused',
    `Outside of the session's capabilities: ${what} not on the public internet (${kind}). Only a host pattern with the address itself opens it.`,
  )
}

async function addressesOf(host: string, url: URL, lookup: HostLookup | undefined, signal: AbortSignal): Promise<readonly string[]> {
  try {
    const asked = lookup === undefined ? systemAddresses(host) : Promise.resolve(lookup(host, { signal }))
    const found: unknown = await unlessAborted(asked, signal)
    if (!Array.isArray(found)) throw new TypeError('the look-up gave no list of addresses')
    return found.filter((address) => typeof address === 'string')
  } catch (error) {
    signal.throwIfAborted()
    throw networkFailure(url, error)
  }
}

async function systemAddresses(host: string): Promise<string[]> {
  const found = await systemLookup(host, { all: true, verbatim: true })
  return found.map(({ address }) => address)
}

/** Whether every set names the address, or the beginning of it; `*` and names do not. */
function isGranted(address: string, port: number, effective: readonly RequirementSet[], classes: AddressClasses): boolean {
  const names = (pattern: string): boolean => {
    const [, host = '', only] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/u.exec(pattern) ?? []
    if (only !== undefined && Number(only) !== port) return false
    if (!host.endsWith('.*')) return classes.normal(host) === address
    const start = host.slice(0, -1)
    return address.startsWith(start) && classes.isSpecialAsAWhole(start)
  }
  return effective.length > 0 && effective.every((set) => (set.net?.hosts ?? []).some(names))
}
