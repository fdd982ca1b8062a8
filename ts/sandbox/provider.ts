import { createNetworkSandboxSession, type NetworkSandboxSessionOptions, parseNetworkOptions } from './network-session.js'
import type { SandboxProvider } from './network-types.js'

/** Options of {@link createSandboxProvider}. */
export type SandboxProviderOptions = Omit<NetworkSandboxSessionOptions, 'id'>

/**
 * Makes the `sandbox` of a `HarnessAgent`. Each session of the agent gets a sandbox session of its own. All share the root
 * directory, in which the agent makes a directory for each. A session cannot be resumed in another process.
 *
 * @example
 * ```ts
 * const sandbox = createSandboxProvider({ rootDir: './agents', home: 'private', ports: [4000] })
 * ```
 * @throws {ToolError} INVALID_INPUT for an invalid option.
 */
export function createSandboxProvider(options: SandboxProviderOptions): SandboxProvider {
  parseNetworkOptions('createSandboxProvider', options)
  const settings = { ...options }
  return Object.freeze<SandboxProvider>({
    specificationVersion: 'harness-sandbox-v1',
    providerId: 'toolwright',
    async createSession({ sessionId, abortSignal, onFirstCreate } = {}) {
      abortSignal?.throwIfAborted()
      const session = createNetworkSandboxSession({ ...settings, id: sessionId })
      try {
        await onFirstCreate?.(session.restricted(), abortSignal === undefined ? {} : { abortSignal })
        abortSignal?.throwIfAborted()
        return session
      } catch (error) {
        await session.destroy()
        throw error
      }
    },
  })
}
