import type { SandboxRequest } from '../../index.js'
import { boolean, type Check, type Checks, group, invalid, oneOf, optional, paths, wholeNumber } from './options.js'
import { protectedPaths } from './protected-places.js'
import { askingOnAsk } from './host-questions.js'
import { hostsRequest, type SandboxHosts, sandboxHosts } from './sandbox-hosts.js'

/** How commands are confined. Only the host sets these options; a model cannot. */
export interface SandboxOptions {
  /**
   * Where commands may write. `root`: the root directory, `writableRoots` and a private temporary directory. `full`: wherever
   * the user may. @default 'root'
   */
  files?: 'root' | 'full' | undefined
  /**
   * What commands may read. `all`: everything but `denyRead` and credential stores (`~/.ssh`, `~/.aws`, `~/.npmrc`, browsers,
   * agents and many more; docs/security.md has the list). `system`: the system, toolchains and the root.
   * @default 'all'
   */
  readScope?: 'all' | 'system' | undefined
  /** Further directories that commands may write. They must exist. Relative paths begin at the root. @default [] */
  writableRoots?: readonly string[] | undefined
  /**
   * Paths that commands may read although they are closed. Relative paths begin at the root; `~/` is the home directory. A
   * credential store is opened only by its own path, not by that of a directory above it.
   * @default []
   */
  readable?: readonly string[] | undefined
  /** Paths that commands may not read. @default [] */
  denyRead?: readonly string[] | undefined
  /**
   * Paths below the root that neither commands nor `write` and `edit` may write. Names stand for several: `@git` (git
   * directories, of which commands work on forks, and what git is led to), `@editors` (`.vscode`, `.idea`, `.zed`), `@agents`
   * (`.claude`, `.codex`, `.cursor`, `.gemini`, `.agents`, `.mcp.json`), `@tools` (what else acts when a project is opened:
   * `.devcontainer`, `.windsurf`, `.nvim.lua`), `@ci` (workflows and pipelines), `@host` (the program of this process and its
   * packages). These names hold in every writable directory. What a command makes where one other than `@git` has nothing yet
   * gets the ending `.disabled` (docs/security.md).
   * @default ['@git', '@editors', '@agents', '@tools']
   */
  denyWrite?: readonly string[] | undefined
  /**
   * What becomes of git directories that commands make. `forked`: they are private to commands at once, and the host makes
   * repositories of them when the command has ended; plain files that git takes for one are judged then. `strict`:
   * commands also cannot create such files while they run, and existing remotes keep their addresses. Linked work trees, submodules and bare repositories below the root are refused to commands then, and opening a file for
   * writing takes some tens of microseconds more. Commands are refused where the system cannot enforce this. @default 'forked'
   */
  git?: 'forked' | 'strict' | undefined
  /**
   * Hosts that commands reach by name, and no others: `{ allow: ['registry.npmjs.org', '*.example.org:443'] }`. Programs need
   * no proxy and no settings for it. It holds whether or not `allowNetwork` is true. Commands are refused where the system
   * cannot enforce this. @default none
   */
  network?: SandboxHosts | undefined
  /**
   * The loopback interface while the network is blocked. `private`: one that only commands with the same options share.
   * `none`: no interface. `host`: the host's, through a broker, so that commands reach every service there. @default
   * 'private'
   */
  loopback?: 'private' | 'none' | 'host' | undefined
  /**
   * What calls with the same options share. `shared`: the private loopback interface and temporary directory, shared memory
   * and message queues. `call`: nothing, which takes a few milliseconds more.
   * @default 'shared'
   */
  isolation?: 'shared' | 'call' | undefined
  /**
   * Whether a command is refused if `sandboxReport()` says less than `kernel` for files, their metadata, shared memory of
   * others, or the end of all processes. A network that cannot be blocked refuses commands in any case. @default false
   */
  required?: boolean | undefined
  /** Limits on the resources of a command. */
  limits?: SandboxLimits | undefined
}

/** Limits on the resources of a command. `sandboxReport()` names the mechanism of each. */
export interface SandboxLimits {
  /** Processes and threads of one command at once; 0 for no limit. @default 4096 */
  processes?: number | undefined
  /** Memory in bytes: of all processes together with a control group, otherwise of each process. @default no limit */
  memoryBytes?: number | undefined
  /** Processor time of each process, in seconds. @default no limit */
  cpuSeconds?: number | undefined
  /** The largest size of a file, in bytes. @default no limit */
  fileSizeBytes?: number | undefined
}

const limitChecks = {
  processes: optional(wholeNumber(0)),
  memoryBytes: optional(wholeNumber(1)),
  cpuSeconds: optional(wholeNumber(1)),
  fileSizeBytes: optional(wholeNumber(1)),
} satisfies Checks<SandboxLimits>

const parseEach = group({
  files: optional(oneOf('root', 'full')),
  readScope: optional(oneOf('all', 'system')),
  network: optional(sandboxHosts),
  loopback: optional(oneOf('private', 'none', 'host')),
  isolation: optional(oneOf('shared', 'call')),
  writableRoots: optional(paths),
  readable: optional(paths),
  denyRead: optional(paths),
  denyWrite: optional(protectedPaths),
  git: optional(oneOf('forked', 'strict')),
  required: optional(boolean),
  limits: optional(group(limitChecks)),
} satisfies Checks<SandboxOptions>)

/** A copy of the options. @throws {ToolError} INVALID_INPUT */
export const parseSandbox: Check<ReturnType<typeof parseEach>> = (value, name) => {
  const sandbox = parseEach(value, name)
  checkNetwork(name, sandbox)
  checkGit(name, sandbox)
  return sandbox
}

/** Refuses another loopback interface than that of the network that the hosts are reached from. */
export function checkNetwork(name: string, { network, loopback }: Pick<SandboxOptions, 'network' | 'loopback'>): void {
  if (network === undefined || loopback === undefined || loopback === 'private') return
  throw invalid(`${name}.loopback must be 'private' with ${name}.network: its commands have a loopback interface of their own.`)
}

/** Refuses to hold git strictly where commands may write its directories. */
export function checkGit(name: string, { git, denyWrite }: Pick<SandboxOptions, 'git' | 'denyWrite'>): void {
  if (git !== 'strict' || denyWrite === undefined || denyWrite.includes('@git')) return
  throw invalid(`${name}.denyWrite must contain '@git' with ${name}.git: 'strict', which holds what that names.`)
}

/** Whether commands reach every host. */
export const reachesAll = (sandbox: Pick<SandboxOptions, 'network'>, allowNetwork: boolean): boolean =>
  allowNetwork && sandbox.network === undefined

/** The options for the addon. Granted and denied paths cross as `CommandGrants`. */
export function sandboxRequest(sandbox: SandboxOptions, allowNetwork: boolean): SandboxRequest {
  const { files, readScope, isolation, denyRead: _, network, ...rest } = sandbox
  const reach = network === undefined ? { network: allowNetwork } : { network: false, names: hostsRequest(network, askingOnAsk(network)) }
  const modes = { ...reach, fullFiles: files === 'full', systemOnly: readScope === 'system', isolated: isolation === 'call' }
  // Cast, because its arrays are read-only copies.
  return { ...modes, ...rest } as SandboxRequest
}

/** The default options. */
export const noSandboxOptions: SandboxOptions = Object.freeze({})
