/** Network policies of harnesses, as hosts that commands reach by name. */
import { isIP } from 'node:net'
import { ToolError } from '../core/errors.js'
import { type Checks, checked, listOf, oneOf, optional, parseOptions, text } from '../core/options.js'
import { type SandboxHosts, hostsOfSession } from '../core/sandbox-hosts.js'
import type { NetworkPolicy } from './network-types.js'

/** What commands reach: all, nothing, or hosts. */
export type Reach = 'all' | 'nothing' | { readonly allow: readonly string[]; readonly deny: readonly string[] }

const CALLER = 'sandbox.setNetworkPolicy'
const customChecks = {
  mode: oneOf('custom'),
  allowedHosts: optional(listOf(text), []),
  allowedCIDRs: optional(listOf(text), []),
  deniedCIDRs: optional(listOf(text), []),
} satisfies Checks<Extract<NetworkPolicy, { mode: 'custom' }>>

/** @throws {ToolError} INVALID_INPUT for a policy that cannot be held. */
export function reachOf(policy: NetworkPolicy): Reach {
  const mode = (policy as { mode?: unknown } | null | undefined)?.mode
  if (mode === 'allow-all') return 'all'
  if (mode === 'deny-all') return 'nothing'
  if (mode !== 'custom') throw refused("policy.mode must be 'allow-all', 'deny-all' or 'custom'.", mode)
  if (process.platform !== 'linux') throw refused('A policy that lists hosts or addresses cannot be held here.', mode)
  const { allowedHosts, allowedCIDRs, deniedCIDRs } = parseOptions(CALLER, policy, customChecks)
  if (allowedHosts.length + allowedCIDRs.length === 0) throw refused('A custom policy names allowedHosts or allowedCIDRs.', mode)
  const allow = [...allowedHosts, ...allowedCIDRs.flatMap((block) => addressesOf(block, mode))]
  const deny = deniedCIDRs.flatMap((block) => addressesOf(block, mode))
  // Compares them as the option is compared.
  return checked(CALLER, () => {
    const { allow: hosts, deny: denied = [] } = hostsOfSession({ allow, deny } satisfies SandboxHosts, 'policy')
    return { allow: hosts, deny: denied }
  })
}

/** A block of addresses as patterns: one address, or all that begin with one to three numbers. */
function addressesOf(block: string, mode: unknown): string[] {
  const [address = '', length, ...rest] = block.split('/')
  const family = isIP(address)
  const bits = length === undefined ? (family === 4 ? 32 : 128) : Number(length)
  const isWhole = family !== 0 && rest.length === 0 && (length === undefined || /^\d{1,3}$/u.test(length))
  if (isWhole && family === 4 && bits === 32) return [address]
  if (isWhole && family === 6 && bits === 128) return [`[${address}]`]
  if (!isWhole || family !== 4 || bits < 8 || bits > 32) {
    throw refused(`The block ${JSON.stringify(block)} cannot be held here: blocks of IPv4 from /8 to /32 can, and single addresses.`, mode)
  }
  const numbers = address.split('.').map(Number)
  const kept = Math.floor(bits / 8)
  const open = bits % 8
  if (open === 0) return [`${numbers.slice(0, kept).join('.')}.*`]
  // The numbers of the one octet that is cut, each with all that follow.
  const first = (numbers[kept] ?? 0) & (0xff << (8 - open))
  const start = numbers.slice(0, kept)
  return Array.from({ length: 2 ** (8 - open) }, (_, more) => [...start, first + more].join('.') + (kept === 3 ? '' : '.*'))
}

function refused(summary: string, mode: unknown): ToolError {
  return new ToolError({
    code: 'INVALID_INPUT',
    summary,
    place: `${summary} (${CALLER})`,
    hint: "Choose 'deny-all', a list of hosts, or 'allow-all' where that is acceptable. The policy stays as it was.",
    details: { mode },
  })
}

/** The same hosts for commands that reach all. @throws {ToolError} INVALID_INPUT */
export function hostsOf(reach: Reach, base: SandboxHosts | undefined): SandboxHosts | undefined {
  if (reach === 'all') return base
  if (reach === 'nothing') return base && { ...base, allow: [], ask: [] }
  return { ...base, allow: [...reach.allow], ask: [], deny: [...(base?.deny ?? []), ...reach.deny] }
}
