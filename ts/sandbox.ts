/** `toolwright/sandbox`: the sandbox sessions of the AI SDK and its harnesses. */
export { type ClosableSandboxSession, createSandboxSession } from './sandbox/create-session.js'
export { createNetworkSandboxSession, type NetworkSandboxSessionOptions } from './sandbox/network-session.js'
export type {
  KeyValueMatcher,
  NetworkPolicy,
  NetworkSandboxSession,
  PortOptions,
  RequestTransformation,
  SandboxProvider,
  TextMatcher,
} from './sandbox/network-types.js'
export { createSandboxProvider, type SandboxProviderOptions } from './sandbox/provider.js'
export type { SandboxSessionOptions } from './sandbox/options.js'
export type {
  DirectoryEntry,
  FileStat,
  PathOptions,
  ReadTextOptions,
  RunOptions,
  RunResult,
  SandboxProcess,
  SandboxSession,
  SpawnOptions,
  WritableSandboxProcess,
  WriteOptions,
  WriteTextOptions,
} from './sandbox/types.js'
