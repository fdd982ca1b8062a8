/** The sandbox session of the AI SDK's harnesses, by structure: `HarnessV1NetworkSandboxSession` and its provider. */
import type { SandboxSession } from './types.js'

/**
 * Which network commands reach. `custom` holds on Linux: hosts as in `sandbox.network.allow`, and blocks of IPv4 from /8 to /32 or single
 * addresses.
 */
export type NetworkPolicy =
  | { mode: 'allow-all' }
  | { mode: 'deny-all' }
  | {
      mode: 'custom'
      allowedHosts?: readonly string[] | undefined
      allowedCIDRs?: readonly string[] | undefined
      deniedCIDRs?: readonly string[] | undefined
    }

/** How a text of a request is compared; a regular expression is one of Rust's `regex`. */
export type TextMatcher = { readonly exact: string } | { readonly startsWith: string } | { readonly regex: string }

/** How a key and its value are compared. What is left out fits any. */
export interface KeyValueMatcher {
  readonly key?: TextMatcher | undefined
  readonly value?: TextMatcher | undefined
}

/** Headers that requests to a host get outside of the sandbox. */
export interface RequestTransformation {
  /** The requests. Headers are compared as the command has sent them. */
  readonly match: {
    readonly host: string
    readonly path?: TextMatcher | undefined
    readonly method?: readonly string[] | undefined
    readonly queryString?: readonly KeyValueMatcher[] | undefined
    readonly headers?: readonly KeyValueMatcher[] | undefined
  }
  /** The headers, which take the place of those that the command has sent. */
  readonly transform: { readonly headers: Readonly<Record<string, string>> }
}

/** A port of the session, and the scheme of its address. */
export interface PortOptions {
  /** A port on which a command listens. */
  port: number
  /** The scheme of the address. @default 'http' */
  protocol?: 'http' | 'https' | 'ws' | undefined
}

/** A sandbox session with ports, a network policy, `stop` and `destroy`. */
export interface NetworkSandboxSession extends SandboxSession, AsyncDisposable {
  /** The id from the options, or a UUID. */
  readonly id: string
  /** The root directory, as commands see it. */
  readonly defaultWorkingDirectory: string
  /** The ports that this machine may reach. */
  readonly ports: readonly number[]
  /**
   * The address of a port at which a process of the session listens. Waits up to 10 seconds for the process. Everybody on
   * this machine can reach the address until the process ends.
   */
  readonly getPortEndpoint: (options: PortOptions) => Promise<{ url: string }>
  /** The address of {@link getPortEndpoint} as a string. */
  readonly getPortUrl: (options: PortOptions) => Promise<string>
  /** Replaces the ports. Addresses that were returned before stay valid. */
  readonly setPorts: (ports: readonly number[], options?: { abortSignal?: AbortSignal | undefined }) => Promise<void>
  /** Changes the network policy of later commands. Rejects with PROCESS_BUSY while a call runs that reaches the network. */
  readonly setNetworkPolicy: (policy: NetworkPolicy) => Promise<void>
  /**
   * Replaces the headers that requests of later commands get outside of the sandbox ([credentials](../guides/credentials.md)). No command sees their
   * values. On Linux alone.
   */
  readonly setRequestTransformations?: (transformations: readonly RequestTransformation[]) => Promise<void>
  /** Adds to them. */
  readonly addRequestTransformations?: (transformations: readonly RequestTransformation[]) => Promise<void>
  /** The same session without the members of this interface. */
  readonly restricted: () => SandboxSession
  /** Kills all processes of the session. Later calls reject. */
  readonly stop: () => Promise<void>
  /** Does the same as `stop`, and removes the private home directory. */
  readonly destroy: () => Promise<void>
}

/** Makes a sandbox session for each session of a harness. */
export interface SandboxProvider {
  readonly specificationVersion: 'harness-sandbox-v1'
  readonly providerId: string
  readonly createSession: (options?: {
    sessionId?: string | undefined
    identity?: string | undefined
    abortSignal?: AbortSignal | undefined
    onFirstCreate?: ((session: SandboxSession, options: { abortSignal?: AbortSignal }) => Promise<void>) | undefined
  }) => Promise<NetworkSandboxSession>
}
