import { isIP } from 'node:net'
import { type Check, type Checks, group, invalid, listOf, must, optional } from './options.js'

/** The hosts that commands reach by name, from a network of their own that has nothing else. Linux only. */
export interface SandboxHosts {
  /**
   * Hosts that commands reach: `example.com`, `*.example.com` (names below it), `*` (every public host), each with a port
   * (`git.example.com:22`) or for all ports. An address is reached only if it is listed itself; `*` lists none.
   */
  allow: readonly string[]
  /** Hosts that they do not reach in spite of that, in the same form. A denied address is not reached by a name either. @default [] */
  deny?: readonly string[] | undefined
  /**
   * Where a name leads in place of what the system's resolver says: an address, with a port (`127.0.0.1:4873`) or without. Only
   * such a name may lead to an address that is not on the public internet. It does not allow the name.
   * @default {}
   */
  addresses?: Readonly<Record<string, string>> | undefined
}

const HOST = 'a host without a scheme or path, such as example.com, *.example.com or git.example.com:22'
const isHost = (value: unknown): boolean => typeof value === 'string' && value.length <= 300 && /^[^\s/\\@?#]+$/u.test(value)
const hosts = listOf(must<string>(isHost, HOST), 'an array of hosts')

const addressOfNames: Check<Record<string, string>> = (value, name) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(`${name} must be an object of addresses by name.`)
  for (const [host, address] of Object.entries(value)) {
    if (!isHost(host) || host.includes('*')) throw invalid(`${name}: ${JSON.stringify(host)} is no name of a host.`)
    if (typeof address !== 'string' || !isAddress(address)) {
      throw invalid(`${name}[${JSON.stringify(host)}] must be an address such as 127.0.0.1 or 127.0.0.1:4873.`)
    }
  }
  return { ...(value as Record<string, string>) }
}

function isAddress(text: string): boolean {
  if (isIP(text) !== 0) return true
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/u.exec(text) ?? []
  const isHere = bracketed === undefined ? isIP(plain ?? '') === 4 : isIP(bracketed) === 6
  return isHere && (port === undefined || Number(port) <= 65_535)
}

/** A copy of the option. @throws {ToolError} INVALID_INPUT */
export const sandboxHosts = group({
  allow: hosts,
  deny: optional(hosts),
  addresses: optional(addressOfNames),
} satisfies Checks<SandboxHosts>)

/** The option for the addon. */
export function hostsRequest({ allow, deny = [], addresses = {} }: SandboxHosts): {
  allow: string[]
  deny: string[]
  addresses: Record<string, string>
} {
  return { allow: [...allow], deny: [...deny], addresses: { ...addresses } }
}
