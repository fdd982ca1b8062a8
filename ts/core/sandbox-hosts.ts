import { isIP } from 'node:net'
import type * as Addon from '../../index.js'
import {
  credentialsRequest,
  NO_CREDENTIALS,
  NO_SSH_KEYS,
  type RequestTransform,
  type SandboxCredential,
  sandboxCredentials,
} from './sandbox-credentials.js'
import { type SandboxSshKey, sandboxSshKeys } from './sandbox-ssh-keys.js'
import { boolean, callable, type Check, type Checks, group, invalid, listOf, must, optional } from './options.js'

/** The hosts that commands reach by name, from a network of their own that has nothing else. Linux only. */
export interface SandboxHosts {
  /**
   * Hosts that commands reach: `example.com`, `*.example.com` (names below it), `*` (every public host), each with a port
   * (`git.example.com:22`) or for all ports. An address is reached only if it is listed itself; `*` lists none.
   */
  allow: readonly string[]
  /**
   * Hosts that they reach if the host program agrees, in the same form. Who is asked is `onAsk`, or in `createSession` the rules and
   * the prompt. What `deny` has is denied without a question, and what `allow` has needs none. A command waits for the answer in
   * `connect`, its timeout goes on, and each host and port is asked about once. @default []
   */
  ask?: readonly string[] | undefined
  /** Hosts that they do not reach in spite of that, in the same form. A denied address is not reached by a name either. @default [] */
  deny?: readonly string[] | undefined
  /**
   * Where a name leads in place of what the system's resolver says: an address, with a port (`127.0.0.1:4873`) or without. Only
   * such a name may lead to an address that is not on the public internet. It does not allow the name.
   * @default {}
   */
  addresses?: Readonly<Record<string, string>> | undefined
  /**
   * Whether the TLS server name (SNI) must equal the name that the command connects to. A connection whose TLS asks for another name, or
   * for none, is reset, and so is one to port 443 that is not TLS. Other protocols pass at other ports. @default false
   */
  tlsNames?: boolean | undefined
  /**
   * Tokens that commands use and never see: they have placeholders, and the host process puts the values into their requests.
   * @default []
   */
  credentials?: readonly SandboxCredential[] | undefined
  /**
   * Keys by which commands log in to SSH hosts and which they never see: an agent of the host process signs for these hosts alone.
   * @default []
   */
  sshKeys?: readonly SandboxSshKey[] | undefined
  /**
   * Certificates of authorities in PEM form, besides the system's, by which the host process verifies the hosts of `credentials`.
   * @default []
   */
  authorities?: readonly string[] | undefined
  /**
   * Asks the user about a host of `ask`. Without it those hosts are refused, as they are if it fails or gives no valid answer. An
   * `_once` holds for the command, and an `_always` for all commands with these options. @default none
   */
  onAsk?: ((question: HostQuestion) => HostDecision | PromiseLike<HostDecision>) | undefined
}

/** The same with headers that requests get whatever they have. Another list of those comes with a copy of the credentials. */
export interface TransformedHosts extends SandboxHosts {
  transforms?: readonly RequestTransform[]
}

/** A host that a command connects to, about which the user is asked. */
export interface HostQuestion {
  /** A name, or an address as it is written in a URL. */
  readonly host: string
  readonly port: number
  /** Aborted when the answer is no longer needed, because the command has ended. */
  readonly signal: AbortSignal
}

/** A decision of the user about a host. */
export type HostDecision = 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always'

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

const isCertificate = (value: unknown): boolean => typeof value === 'string' && value.includes('-----BEGIN CERTIFICATE-----')

const checks = {
  allow: hosts,
  ask: optional(hosts),
  deny: optional(hosts),
  addresses: optional(addressOfNames),
  tlsNames: optional(boolean),
  credentials: optional(sandboxCredentials),
  sshKeys: optional(sandboxSshKeys),
  authorities: optional(listOf(must<string>(isCertificate, 'a certificate in PEM form'), 'an array of certificates')),
} satisfies Checks<Omit<SandboxHosts, 'onAsk'>>

/** A copy of the option. @throws {ToolError} INVALID_INPUT */
export const sandboxHosts = group({
  ...checks,
  onAsk: optional(callable<NonNullable<SandboxHosts['onAsk']>>()),
} satisfies Checks<SandboxHosts>)

/** The same where the host is asked in another way. @throws {ToolError} INVALID_INPUT */
export const hostsOfSession = group(checks)

/** Takes the questions of the addon. */
export type AskHost = (question: Addon.HostQuestion) => void
/** Takes uses of credentials, which the addon wants to have decided about. */
export type AskUse = (use: Addon.CredentialUse) => void

/** The option for the addon. */
export function hostsRequest(
  {
    allow,
    ask = [],
    deny = [],
    addresses = {},
    tlsNames = false,
    credentials = NO_CREDENTIALS,
    sshKeys = NO_SSH_KEYS,
    authorities = [],
    transforms = [],
  }: TransformedHosts,
  onQuestion: AskHost | undefined,
  onUse?: AskUse,
): Addon.SandboxHosts {
  const hasOwn = credentials.length + sshKeys.length + transforms.length > 0
  const own = hasOwn && { credentials: credentialsRequest(credentials, transforms, sshKeys, authorities) }
  const lists = { allow: [...allow], ask: [...ask], deny: [...deny], addresses: { ...addresses }, tlsNames, ...own }
  const asks = { ...(onQuestion && { onQuestion }), ...(hasOwn && onUse && { onUse }) }
  return { ...lists, ...asks }
}
