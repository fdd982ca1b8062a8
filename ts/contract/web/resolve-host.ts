import type * as Addresses from 'ipaddr.js'
import { lookup as systemLookup } from 'node:dns/promises'
import { unlessAborted } from '../../core/abort.js'
import { ContractFailure } from '../registry/envelope.js'
import type { RequirementSet } from '../registry/requirements.js'
import { networkFailure } from './network-failure.js'
import { hostOf, portOf } from './web-url.js'
import { loadLate } from '../../core/late-code.js'

const loadAddresses = loadLate(() => import('ipaddr.js'))

/** Resolves names to addresses. */
export type HostLookup = (host: string, options: { signal: AbortSignal }) => readonly string[] | PromiseLike<readonly string[]>

/** The addresses at which a URL may be dialled. */
export interface DialableHost {
  /** Only these; the name is not looked up again. */
  addresses: string[]
  /** Addresses outside the public internet. Rules are also asked about each of them. */
  special: string[]
}

/**
 * Resolves a host once and keeps the addresses that may be dialled: public ones, or else those that every set of the
 * session's capabilities names as addresses. A name cannot stand for a private address, since its owner chooses where it
 * leads; but `localhost` stands for loopback.
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
  const resolved = literal === undefined ? await addressesOf(host, url, lookup, signal) : [literal]
  const all = [...new Set(resolved.map((address) => classes.normal(address)).filter((address) => address !== undefined))]
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
    const resolved: unknown = await unlessAborted(asked, signal)
    if (!Array.isArray(resolved)) throw new TypeError('the look-up gave no list of addresses')
    return resolved.filter((address) => typeof address === 'string')
  } catch (error) {
    signal.throwIfAborted()
    throw networkFailure(url, error)
  }
}

const systemAddresses = async (host: string): Promise<string[]> =>
  (await systemLookup(host, { all: true, verbatim: true })).map(({ address }) => address)

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

type AddressClasses = Awaited<ReturnType<typeof loadAddressClasses>>

/** Tells addresses of the public internet from all others, by the registries of special-purpose addresses. Loaded with the first fetch. */
export async function loadAddressClasses() {
  const { IPv4, IPv6, parse } = (await loadAddresses()).default as unknown as typeof Addresses

  /** The address in its one spelling, or `undefined` for a name. */
  const normal = (host: string): string | undefined => {
    const bare = host.replace(/^\[|\]$/gu, '')
    // Other spellings were made one by the parser of the URL.
    if (!IPv4.isValidFourPartDecimal(bare) && !(bare.includes(':') && IPv6.isValid(bare))) return undefined
    return parse(bare).toString()
  }

  /**
   * Why an address is not on the public internet: `loopback`, `private`, `linkLocal`, `carrierGradeNat`,
   * `multicast`, `reserved`, and the forms of IPv6 that carry an address of IPv4. `undefined` for a public one.
   */
  const special = (address: string): string | undefined => {
    const parsed = parse(address)
    const range = parsed.range()
    if (range !== 'unicast') return range
    // No addresses outside of 2000::/3 are assigned: routes there are local.
    const [first = 0] = parsed instanceof IPv6 ? parsed.parts : [0x2000]
    return (first & 0xe000) === 0x2000 ? undefined : 'reserved'
  }

  /** Whether no address of IPv4 that begins so, as `10.0.`, is one of the public internet. */
  const isSpecialAsAWhole = (start: string): boolean => {
    if (!/^(?:\d+\.){1,3}$/u.test(start)) return false
    const count = start.split('.').length - 1
    const edges = ['0', '255'].map((fill) => [...start.split('.').slice(0, count), ...Array<string>(4 - count).fill(fill)].join('.'))
    return edges.every((edge) => normal(edge) !== undefined && special(edge) !== undefined)
  }
  return { normal, special, isSpecialAsAWhole }
}
