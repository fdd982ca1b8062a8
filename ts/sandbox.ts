/** `toolwright/sandbox`: the sandbox session of the AI SDK. */
export { type ClosableSandboxSession, createSandboxSession } from './sandbox/create-session.js'
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
