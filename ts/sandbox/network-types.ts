/** The sandbox session of the AI SDK's harnesses, by structure: `HarnessV1NetworkSandboxSession` and its provider. */
import type { SandboxSession } from './types.js'

/** What of the network commands reach. `custom` is refused: there is nothing that would hold it. */
export type NetworkPolicy =
  | { mode: 'allow-all' }
  | { mode: 'deny-all' }
  | {
      mode: 'custom'
      allowedHosts?: readonly string[] | undefined
      allowedCIDRs?: readonly string[] | undefined
      deniedCIDRs?: readonly string[] | undefined
    }

/** A port of the session, and how it is reached from this machine. */
export interface PortOptions {
  port: number
  /** The scheme of the address. @default 'http' */
  protocol?: 'http' | 'https' | 'ws' | undefined
}

/** A sandbox session with ports, a policy of the network, and an end. */
export interface NetworkSandboxSession extends SandboxSession, AsyncDisposable {
  /** The id that it was given, or a UUID. */
  readonly id: string
  /** The root directory, as commands see it. */
  readonly defaultWorkingDirectory: string
  /** The ports that may be reached from this machine. */
  readonly ports: readonly number[]
  /**
   * The address of a port at which a process of the session listens. Waits up to 10 seconds for one. Everybody on this
   * machine reaches it until the process ends.
   */
  readonly getPortEndpoint: (options: PortOptions) => Promise<{ url: string }>
  /** The address alone. */
  readonly getPortUrl: (options: PortOptions) => Promise<string>
  /** Replaces the ports. Addresses that were given before stay. */
  readonly setPorts: (ports: readonly number[], options?: { abortSignal?: AbortSignal | undefined }) => Promise<void>
  /** Changes what later commands reach. Rejects while calls that reach the network go on. */
  readonly setNetworkPolicy: (policy: NetworkPolicy) => Promise<void>
  /** The same session without what is in this interface. */
  readonly restricted: () => SandboxSession
  /** Kills everything that was started. Later calls reject. */
  readonly stop: () => Promise<void>
  /** As `stop`, and removes the private home directory. */
  readonly destroy: () => Promise<void>
}

/** Makes a session for each session of a harness. */
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
