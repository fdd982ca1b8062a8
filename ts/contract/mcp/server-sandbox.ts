/** The sandbox of a server over stdio: its configuration, and the options that a session makes of it. */
import { homedir } from 'node:os'
import type { Fork } from '../../fork/fork.js'
import { join, resolve } from 'node:path'
import { type EnvironmentOption, parseEnvironment } from '../../core/environment.js'
import { isWithin } from '../../core/near-paths.js'
import { boolean, type Check, type Checks, group, invalid, listOf, oneOf, optional, path } from '../../core/options.js'
import { parseSandbox, type SandboxLimits, type SandboxOptions } from '../../core/sandbox.js'

/**
 * The access of a server over stdio. Paths are absolute, begin with `~/` or `{workspace}` (every root of the session), or are
 * relative to the server's `cwd`.
 */
export interface McpSandbox {
  /** Directories that it may write, besides its home and a private `/tmp`. They must exist. @default [] */
  writableRoots?: string[] | undefined
  /** Paths that it may read although they are closed, such as a credential store by its own path. @default [] */
  readable?: string[] | undefined
  /**
   * What it may read. `all`: everything but credential stores and `denyRead`. `system`: the system, toolchains, the
   * workspace, its home, `writableRoots` and `readable`.
   * @default 'all'
   */
  readScope?: 'all' | 'system' | undefined
  /** Paths that it may not read, besides the session's. @default [] */
  denyRead?: string[] | undefined
  /**
   * Paths that it may not write, besides the session's. Relative paths lie below each of `writableRoots`.
   * @default ['@git', '@editors', '@agents', '@tools']
   */
  denyWrite?: string[] | undefined
  /** Whether it reaches every host. @default false */
  network?: boolean | undefined
  /** The loopback interface while it has no network: its own, none, or the host's. @default the session's */
  loopback?: 'private' | 'none' | 'host' | undefined
  /**
   * Which variables of this process it gets besides `env`. `{}`: those of commands. `{ allow }`: those and these names.
   * `'inherit'`: all.
   * @default a few harmless ones
   */
  env?: EnvironmentOption | undefined
  /**
   * A lasting home directory that it may write, for caches of `npx` and `uvx`. It is created if it is missing.
   * @default one of its own that ends with the session
   */
  home?: string | undefined
  /** Whether it starts only if the kernel confines files and processes. @default the session's */
  required?: boolean | undefined
  /** Limits on its resources. */
  limits?: SandboxLimits | undefined
}

const confined = group({
  writableRoots: optional(listOf(path)),
  readable: optional(listOf(path)),
  readScope: optional(oneOf('all', 'system')),
  denyRead: optional(listOf(path)),
  denyWrite: optional(listOf(path)),
  network: optional(boolean),
  loopback: optional(oneOf('private', 'none', 'host')),
  env: optional(parseEnvironment),
  home: optional(path),
  required: optional(boolean),
  limits: (limits, name) => (limits === undefined ? undefined : parseSandbox({ limits }, name.replace(/\.limits$/u, '')).limits),
} satisfies Checks<McpSandbox>)

/** Accepts only exactly `'none'`, because a misspelt option must not silently drop a restriction. */
export const mcpSandbox: Check<McpSandbox | 'none'> = (value, name) => {
  if (value === 'none') return value
  if (typeof value === 'string') throw invalid(`${name} must be 'none' or an object.`)
  return confined(value, name)
}

/** The parts of a session that its servers use. */
export interface ServerPlace {
  /** The roots of the workspace, without links. */
  readonly roots: readonly string[]
  /** The options of every process of the session. */
  readonly sandbox: {
    readonly required?: boolean | undefined
    readonly loopback?: 'private' | 'none' | 'host' | undefined
    readonly denyRead?: readonly string[] | undefined
    readonly denyWrite?: readonly string[] | undefined
    readonly git?: 'forked' | 'strict' | undefined
  }
  /** The fork that servers see in the place of the directory that the roots lie in. */
  readonly fork?: Fork | undefined
  /** Makes a directory that ends with the session and that no command of any session can read. */
  home(name: string): string
}

/** The default of `denyWrite`, below each writable directory. */
const PROTECTED = ['@git', '@editors', '@agents', '@tools']

/** The options of one server for the addon, with the paths of a session. */
export function sandboxOptions(sandbox: McpSandbox, { roots, sandbox: session }: ServerPlace, cwd: string): SandboxOptions {
  const of = (paths: readonly string[] = []): string[] => paths.flatMap((one) => placed(one, roots, cwd))
  const writableRoots = of(sandbox.writableRoots)
  const below = (paths: readonly string[]): string[] =>
    paths.flatMap((one) => (isPlaced(one) ? placed(one, roots, cwd) : [one, ...writableRoots.map((root) => join(root, one))]))
  const [first = cwd] = roots
  const denyWrite = [...(sandbox.denyWrite ?? []), ...(session.denyWrite ?? [])]
  const isListed = sandbox.denyWrite !== undefined || session.denyWrite !== undefined
  const denyRead = [...of(sandbox.denyRead), ...(session.denyRead ?? []).flatMap((one) => placed(one, roots, first))]
  const { limits, loopback = session.loopback, required = session.required } = sandbox
  return {
    ...(sandbox.readScope === undefined ? {} : { readScope: sandbox.readScope }),
    ...(loopback === undefined ? {} : { loopback }),
    ...(limits === undefined ? {} : { limits }),
    ...(session.git === undefined ? {} : { git: session.git }),
    // A server cannot weaken the session's requirement.
    required: required === true || session.required === true,
    writableRoots,
    // The scope, or the private `/tmp`, may hide the workspace otherwise.
    readable: [...of(sandbox.readable), ...roots.filter((root) => !denyRead.includes(root))],
    denyRead,
    denyWrite: below(isListed ? denyWrite : PROTECTED),
  }
}

const WORKSPACE = /^\{workspace\}(?=\/|$)/u
const isPlaced = (written: string): boolean => WORKSPACE.test(written) || /^(?:\/|~\/|~$)/u.test(written)

/** Resolves a path of a configuration to absolute paths. */
export function placed(written: string, roots: readonly string[], cwd: string): string[] {
  if (WORKSPACE.test(written)) return roots.map((root) => join(root, written.replace(WORKSPACE, '.')))
  if (/^~(?:\/|$)/u.test(written)) return [join(process.env['HOME'] || homedir(), written.slice(1))]
  return [resolve(cwd, written)]
}

/** The directory of a server. */
export function directoryOf({ cwd = '.' }: { readonly cwd?: string | undefined }, { roots }: Pick<ServerPlace, 'roots'>): string {
  return placed(cwd, roots, process.cwd())[0] ?? process.cwd()
}

/** Refuses a home in a directory that was forked: it is made and granted in the directory itself. @throws {ToolError} INVALID_INPUT */
export function checkHome(
  name: string,
  server: { readonly cwd?: string | undefined; readonly sandbox?: McpSandbox | 'none' | undefined },
  { fork, roots }: Omit<ServerPlace, 'home' | 'sandbox'>,
): void {
  const { home } = typeof server.sandbox === 'object' ? server.sandbox : {}
  if (fork === undefined || home === undefined) return
  const own = placed(home, roots, directoryOf(server, { roots }))[0] ?? ''
  if (isWithin(fork.base, own)) {
    throw invalid(`mcpServers.${name}.sandbox.home is ${own}, in the directory that the session has a fork of: name a directory elsewhere.`)
  }
}

/** Describes for a person how a server with these options runs. */
export function describeSandbox(sandbox: McpSandbox | 'none'): string {
  if (sandbox === 'none') return 'outside of the sandbox, with the rights of this process'
  const { writableRoots = [], readScope = 'all', readable = [], network = false, loopback, home } = sandbox
  const writes = [home ?? 'a home of its own', ...writableRoots].join(', ')
  const reads = readScope === 'all' ? 'everything but credential stores' : 'the system, toolchains and the workspace'
  const reached = network ? 'the network' : loopback === 'host' ? "this machine's loopback interface" : 'no network'
  return `in the sandbox: writes ${writes}; reads ${[reads, ...readable].join(', ')}; ${reached}`
}

/** Words by which libc, Node, Python, Go and npm report a missing network. */
const NETWORK =
  /network is unreachable|enetunreach|eai_again|enotfound|getaddrinfo|name or service not known|failure in name resolution|could not resolve|no address associated|fetch failed|econnrefused|failed to lookup address/iu
const FILES = /read-only file system|erofs|eacces|permission denied|eperm|operation not permitted/iu

/** The part of the sandbox that may have caused a failure with this text, and the option that allows it. */
export function sandboxHint(name: string, sandbox: McpSandbox | 'none', text: string): string | undefined {
  if (sandbox === 'none') return undefined
  const option = (word: string): string => `mcpServers.${name}.sandbox.${word}`
  if (sandbox.network !== true && NETWORK.test(text)) {
    return `This may be the sandbox: the server ${name} has no network; do without it, or have the host set ${option('network')} to true.`
  }
  if (!FILES.test(text)) return undefined
  return `This may be the sandbox: the server ${name} writes only its home, a private /tmp and what ${option('writableRoots')} lists, and reads no credential store but what ${option('readable')} lists; do without it, or have the host add the path.`
}
