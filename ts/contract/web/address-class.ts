import type * as Addresses from 'ipaddr.js'

let loading: Promise<typeof Addresses> | undefined

/** Tells addresses of the public internet from all others. Loaded with the first fetch. */
export async function loadAddressClasses(): Promise<AddressClasses> {
  loading ??= import('ipaddr.js').then((module) => module.default as unknown as typeof Addresses)
  return new AddressClasses(await loading)
}

/** What an address is, by the registries of special-purpose addresses. */
export class AddressClasses {
  readonly #library: typeof Addresses

  constructor(library: typeof Addresses) {
    this.#library = library
  }

  /** The address in its one spelling, or `undefined` for a name. */
  normal(host: string): string | undefined {
    const bare = host.replace(/^\[|\]$/gu, '')
    // Other spellings were made one by the parser of the URL.
    if (!this.#library.IPv4.isValidFourPartDecimal(bare) && !(bare.includes(':') && this.#library.IPv6.isValid(bare))) return undefined
    return this.#library.parse(bare).toString()
  }

  /**
   * Why an address is none of the public internet: `loopback`, `private`, `linkLocal`, `carrierGradeNat`,
   * `multicast`, `reserved`, and the forms of IPv6 that carry an address of IPv4. `undefined` for a public one.
   */
  special(address: string): string | undefined {
    const parsed = this.#library.parse(address)
    const range = parsed.range()
    if (range !== 'unicast') return range
    // Nothing outside of 2000::/3 has been given out: what is routed there is routed by somebody at home.
    const [first = 0] = parsed instanceof this.#library.IPv6 ? parsed.parts : [0x2000]
    return (first & 0xe000) === 0x2000 ? undefined : 'reserved'
  }

  /** Whether no address of IPv4 that begins so, as `10.0.`, is one of the public internet. */
  isSpecialAsAWhole(start: string): boolean {
    if (!/^(?:\d+\.){1,3}$/u.test(start)) return false
    const count = start.split('.').length - 1
    const edges = ['0', '255'].map((fill) => [...start.split('.').slice(0, count), ...Array<string>(4 - count).fill(fill)].join('.'))
    return edges.every((edge) => this.normal(edge) !== undefined && this.special(edge) !== undefined)
  }
}
