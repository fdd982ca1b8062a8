/** How a server over stdio is confined: what its configuration says, and what becomes of it in a session. */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { type EnvironmentOption, parseEnvironment } from '../../core/environment.js'
import { boolean, type Check, type Checks, group, invalid, listOf, oneOf, optional, path } from '../../core/options.js'
import { parseSandbox, type SandboxLimits, type SandboxOptions } from '../../core/sandbox.js'

/**
 * What a server over stdio may do. Paths are absolute, begin with `~/` or `{workspace}` (every root of the session), or are
 * relative to the server's `cwd`.
 */
export interface McpSandbox {
  /** Directories that it may write besides its home and a private `/tmp`; they must exist. @default [] */
  writableRoots?: string[] | undefined
  /** What it may read in spite of what closes it: a credential store by its own path, for one. @default [] */
  readable?: string[] | undefined
  /**
   * What it may read: `all` is everything but credential stores and `denyRead`; `system` is the system, toolchains, the
   * workspace, its home, `writableRoots` and `readable`. @default 'all'
   */
  readScope?: 'all' | 'system' | undefined
  /** What it may not read, besides the session's. @default [] */
  denyRead?: string[] | undefined
  /**
   * What it may not write, besides the session's; relative paths below each of `writableRoots`.
   * @default ['.git/hooks', '.git/config']
   */
  denyWrite?: string[] | undefined
  /** Whether it reaches every host. @default false */
  network?: boolean | undefined
  /** The loopback interface without the network: its own, none, or the host's. @default the session's */
  loopback?: 'private' | 'none' | 'host' | undefined
  /**
   * Which variables of this process it gets besides `env`: without this a few harmless ones, `{}` what commands get,
   * `{ allow }` those besides, `'inherit'` all.
   */
  env?: EnvironmentOption | undefined
  /**
   * Its home directory, which it writes and which stays: for caches of `npx` and `uvx`. It is made if it is missing.
   * @default one of its own that ends with the session
   */
  home?: string | undefined
  /** Whether it is not started where the kernel does not hold files and processes. @default the session's */
  required?: boolean | undefined
  /** Bounds on what it uses. */
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

/** `'none'` in full: a misspelt word must not open what it was to close. */
export const mcpSandbox: Check<McpSandbox | 'none'> = (value, name) => {
  if (value === 'none') return value
  if (typeof value === 'string') throw invalid(`${name} must be 'none' or an object.`)
  return confined(value, name)
}

/** What a session gives to its servers. */
export interface ServerPlace {
  /** The roots of the workspace, without links. */
  readonly roots: readonly string[]
  /** What holds for every process of the session. */
  readonly sandbox: {
    readonly required?: boolean | undefined
    readonly loopback?: 'private' | 'none' | 'host' | undefined
    readonly denyRead?: readonly string[] | undefined
    readonly denyWrite?: readonly string[] | undefined
  }
  /** Gives a directory that ends with the session, which no command of any session reads. */
  home(name: string): string
}

/** What is not written below a writable directory, unless a list says otherwise. */
const PROTECTED = ['.git/hooks', '.git/config']

/** The options of one server, with the paths of a session, as the addon takes them. */
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
    // The session can ask for more, and no server for less.
    required: required === true || session.required === true,
    writableRoots,
    // A workspace may lie where the scope, or the private `/tmp`, leaves nothing to read.
    readable: [...of(sandbox.readable), ...roots.filter((root) => !denyRead.includes(root))],
    denyRead,
    denyWrite: below(isListed ? denyWrite : PROTECTED),
  }
}

const WORKSPACE = /^\{workspace\}(?=\/|$)/u
const isPlaced = (written: string): boolean => WORKSPACE.test(written) || /^(?:\/|~\/|~$)/u.test(written)

/** The absolute paths of a path in a configuration. */
export function placed(written: string, roots: readonly string[], cwd: string): string[] {
  if (WORKSPACE.test(written)) return roots.map((root) => join(root, written.replace(WORKSPACE, '.')))
  if (/^~(?:\/|$)/u.test(written)) return [join(process.env['HOME'] || homedir(), written.slice(1))]
  return [resolve(cwd, written)]
}

/** How a server with these options runs, for a person. */
export function describeSandbox(sandbox: McpSandbox | 'none'): string {
  if (sandbox === 'none') return 'outside of the sandbox, with the rights of this process'
  const { writableRoots = [], readScope = 'all', readable = [], network = false, loopback, home } = sandbox
  const writes = [home ?? 'a home of its own', ...writableRoots].join(', ')
  const reads = readScope === 'all' ? 'everything but credential stores' : 'the system, toolchains and the workspace'
  const reached = network ? 'the network' : loopback === 'host' ? "this machine's loopback interface" : 'no network'
  return `in the sandbox: writes ${writes}; reads ${[reads, ...readable].join(', ')}; ${reached}`
}

/** Words by which libc, Node, Python, Go and npm report a network that is not there. */
const NETWORK =
  /network is unreachable|enetunreach|eai_again|enotfound|getaddrinfo|name or service not known|failure in name resolution|could not resolve|no address associated|fetch failed|econnrefused|failed to lookup address/iu
const FILES = /read-only file system|erofs|eacces|permission denied|eperm|operation not permitted/iu

/** What of the sandbox may have caused a failure with this text, and how a host allows it. */
export function sandboxHint(name: string, sandbox: McpSandbox | 'none', text: string): string | undefined {
  if (sandbox === 'none') return undefined
  const option = (word: string): string => `mcpServers.${name}.sandbox.${word}`
  if (sandbox.network !== true && NETWORK.test(text)) {
    return `This may be the sandbox: the server ${name} has no network; do without it, or have the host set ${option('network')} to true.`
  }
  if (!FILES.test(text)) return undefined
  return `This may be the sandbox: the server ${name} writes only its home, a private /tmp and what ${option('writableRoots')} lists, and reads no credential store but what ${option('readable')} lists; do without it, or have the host add the path.`
}
