import type { SandboxRequest } from '../../index.js'
import { boolean, type Checks, group, oneOf, optional, paths, wholeNumber } from './options.js'

/** How `bash` is confined. The host decides; a model can change nothing here. */
export interface SandboxOptions {
  /**
   * Where commands may write: `root` is the root directory, `writableRoots` and a private temporary
   * directory; `full` is wherever the user may. @default 'root'
   */
  files?: 'root' | 'full' | undefined
  /**
   * What commands may read: `all` is everything but credential stores (`~/.ssh`, `~/.aws`, `~/.npmrc`, browsers,
   * agents and many more: docs/security.md has the list) and `denyRead`; `system` is the system, toolchains and
   * the root.
   * @default 'all'
   */
  readScope?: 'all' | 'system' | undefined
  /** Directories commands may write besides the root; they must exist. Relative to the root. @default [] */
  writableRoots?: readonly string[] | undefined
  /**
   * What commands may read in spite of what closes it. Relative to the root, `~/` is the home directory. A
   * credential store is opened by its own path, and not by what holds it. @default []
   */
  readable?: readonly string[] | undefined
  /** What commands may not read. @default [] */
  denyRead?: readonly string[] | undefined
  /**
   * What may not be written below the root, by commands and by `write` and `edit`. `.git/hooks` and
   * `.git/config` stand for what else git runs or obeys there (docs/security.md).
   * @default ['.git/hooks', '.git/config']
   */
  denyWrite?: readonly string[] | undefined
  /**
   * The loopback interface while the network is blocked: `private` is one that commands of the same
   * options share among themselves, `none` is none, `host` is the host's, through a broker: whatever
   * listens there can be reached. @default 'private'
   */
  loopback?: 'private' | 'none' | 'host' | undefined
  /**
   * What calls of the same options share: `shared` is the private loopback, the private temporary
   * directory, shared memory and message queues; `call` is nothing, and takes a few milliseconds more.
   * @default 'shared'
   */
  isolation?: 'shared' | 'call' | undefined
  /**
   * Whether a command is refused where the kernel does not hold files, their metadata, shared memory of others,
   * or the end of all processes: where `sandboxReport()` says less than `kernel` of one of them.
   * A blocked network is never given up, required or not. @default false
   */
  required?: boolean | undefined
  /** Bounds on what a command uses. */
  limits?: SandboxLimits | undefined
}

/** Bounds on what a command uses. `sandboxReport()` names what enforces each. */
export interface SandboxLimits {
  /** Processes and threads of one command at once; 0 for no limit. @default 4096 */
  processes?: number | undefined
  /** Memory, of all processes together where a control group holds it, else of each. @default no limit */
  memoryBytes?: number | undefined
  /** Processor time of each process, in seconds. @default no limit */
  cpuSeconds?: number | undefined
  /** How long a file may become. @default no limit */
  fileSizeBytes?: number | undefined
}

const limitChecks = {
  processes: optional(wholeNumber(0)),
  memoryBytes: optional(wholeNumber(1)),
  cpuSeconds: optional(wholeNumber(1)),
  fileSizeBytes: optional(wholeNumber(1)),
} satisfies Checks<SandboxLimits>

/** A copy of the options. @throws {ToolError} INVALID_INPUT */
export const parseSandbox = group({
  files: optional(oneOf('root', 'full')),
  readScope: optional(oneOf('all', 'system')),
  loopback: optional(oneOf('private', 'none', 'host')),
  isolation: optional(oneOf('shared', 'call')),
  writableRoots: optional(paths),
  readable: optional(paths),
  denyRead: optional(paths),
  denyWrite: optional(paths),
  required: optional(boolean),
  limits: optional(group(limitChecks)),
} satisfies Checks<SandboxOptions>)

/** The options as the addon takes them. What is granted or denied by path crosses as `CommandGrants`. */
export function sandboxRequest(sandbox: SandboxOptions, allowNetwork: boolean): SandboxRequest {
  const { files, readScope, isolation, limits, denyRead: _, ...rest } = sandbox
  const modes = { network: allowNetwork, fullFiles: files === 'full', systemOnly: readScope === 'system', isolated: isolation === 'call' }
  // Cast, because its arrays are read-only copies.
  return { ...modes, ...rest, ...limits } as SandboxRequest
}

/** The options in force when none are given. */
export const noSandboxOptions: SandboxOptions = Object.freeze({})
