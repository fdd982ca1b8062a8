import { constants } from 'node:buffer'
import { statSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { type EnvironmentOption, parseEnvironment } from '../core/environment.js'
import { ToolError } from '../core/errors.js'
import { noteGrants, noteRoot } from '../core/grants.js'
import { type MaskOption, parseMask } from '../core/mask.js'
import { noteWritablePlace } from '../core/writable-places.js'
import { type NetworkGuard, networkGuards } from '../core/network-guard/guard-network.js'
import { boolean, type Check, type Checks, group, invalid, oneOf, optional, parseOptions, positive, text } from '../core/options.js'
import { noSandboxOptions, parseSandbox, type SandboxOptions } from '../core/sandbox.js'
import type { ToolContext } from '../journal/calls/context.js'
import { checkJournal } from '../journal/checks.js'
import type { Journal } from '../journal/journal.js'
import type { CallHooks } from './call-hooks.js'
import type { RepeatedFailures } from './repeated-failures.js'
import type { SeenFilesOfSet } from './seen-files-of-set.js'
import type { TrackedCalls } from './tools/tracked-calls.js'

/** The most arguments of one command. */
export const BASH_TOOL_MAX_ARGS = 128
/** The longest argument, in UTF-16 code units. */
export const BASH_TOOL_MAX_ARG_LENGTH = 8192
/** The longest executable name or path, in UTF-16 code units. */
export const BASH_TOOL_MAX_COMMAND_LENGTH = 8192
/** The longest working directory, in UTF-16 code units. */
export const BASH_TOOL_MAX_CWD_LENGTH = 1024
/** The highest `maxOutputBytes`. */
export const BASH_TOOL_MAX_OUTPUT_BYTES = 10_485_760
/** The highest timeout: one hour. */
export const BASH_TOOL_MAX_TIMEOUT_MS = 3_600_000

/** Options of the built-in tools: for one set with `createTools`, for all with `configureTools`. */
export interface ToolOptions {
  /** The directory to which tools are confined. @default `process.cwd()` at the time of the call */
  rootDir?: string | undefined
  /** Whether `bash` may reach the network. @default false */
  allowNetwork?: boolean | undefined
  /** The most bytes that one call returns or takes; at most 10,485,760 for `bash`. @default 200000 */
  maxOutputBytes?: number | undefined
  /** The most bytes by the kind of call. @default maxOutputBytes for every kind */
  limits?: OutputLimits | undefined
  /** The time after which `bash` and `grep` are stopped, in milliseconds; at most one hour for `bash`. @default 60000 */
  toolTimeoutMs?: number | undefined
  /**
   * Which commands `bash` refuses early while the network is blocked. `auto`: where the kernel blocks the network, commands
   * that can do nothing without it (`npm install`, `git push`, `curl https://…`); elsewhere the same as `tokens`. `tokens`:
   * every token that is a network program or a web address. `commands`: the same words as the program of a command.
   * `fragments`: any such text anywhere. `off`: none.
   * @default 'auto'; 'tokens' for `toolwright/tools` until `configureTools` is called
   */
  networkGuard?: NetworkGuard | undefined
  /**
   * The environment of commands. By default it lacks variables that look like secrets or inject code. `'inherit'` passes all,
   * `allow` passes these names too (`*` stands for any text), and `set` adds variables.
   */
  env?: EnvironmentOption | undefined
  /**
   * Which secrets are masked in what commands and processes print, before anybody keeps or sees it. `'known'`: values of variables that
   * `env` keeps from commands because they are secret. `'tokens'`: tokens in the formats of their vendors and private keys, too. `false`:
   * nothing. `{ tokens, values: { NAME: '…' } }` adds secrets of the host.
   * @default 'known'
   */
  mask?: MaskOption | undefined
  /**
   * How the kernel confines `bash`, and which paths `write` and `edit` may not touch. By default commands write to the root
   * directory and a private temporary directory, cannot read credential stores, and leave no process behind.
   */
  sandbox?: SandboxOptions | undefined
  /**
   * Which failures a finished `write` or `edit` survives. `process`: the death of every process. `fsync`: a power failure
   * too.
   * @default 'process'
   */
  durability?: 'process' | 'fsync' | undefined
  /**
   * Whether `write` and `edit` may overwrite a file in place if it cannot be replaced in one step (its directory is not
   * writable, its owner cannot be kept, it is a bind mount). A crash can then leave a mixture.
   * @default false
   */
  allowInPlace?: boolean | undefined
}

/** The most bytes that one call returns or takes, by kind. */
export interface OutputLimits {
  /** The result of `read`. @default maxOutputBytes */
  read?: number | undefined
  /** The result of `grep`. @default maxOutputBytes */
  grep?: number | undefined
  /** The result of `bash`, at most 10,485,760. @default maxOutputBytes */
  bash?: number | undefined
  /** The content of `write`, and the patch and the file of `edit`. @default maxOutputBytes */
  write?: number | undefined
  /**
   * The largest image that `read` of `createTools` shows to the model, as a file part of the result. Set it only for models
   * and providers that take images in results: others get the bytes as text.
   * @default 0, which refuses images as TOOL_FILE_BINARY
   */
  image?: number | undefined
}

/** Kinds of calls that `maxOutputBytes` limits. */
export type LimitedKind = 'read' | 'grep' | 'bash' | 'write'

/** Options of one set of tools. */
export interface BoundToolOptions extends ToolOptions {
  /**
   * The journal, from `openJournal`, that records calls. Inside `runTask` they are calls of that task; outside, they are
   * calls of a run of this set of tools: {@link BoundToolOptions.runId} and `nodeId`.
   */
  journal?: Journal | undefined
  /** The run of calls outside a task: a request, a job, a conversation. @default a new UUID */
  runId?: string | undefined
  /** The node of that run. @default 'agent' */
  nodeId?: string | undefined
}

/** The same for a set whose calls are made between checkpoints. */
export interface TrackedToolOptions extends BoundToolOptions {
  tracked?: TrackedCalls | undefined
  /** Functions of the host that see each call. */
  hooks?: CallHooks | undefined
  /** Refuses arguments that a tool does not have. The documents' tools drop them. */
  known?: KnownArguments | undefined
  /** Counts failures of the same call. */
  failures?: RepeatedFailures | undefined
  /** Whether the set has `process_start`, which words about commands then name. */
  startsProcesses?: boolean | undefined
  /** Whether models are shown what is in documents. */
  documents?: boolean | undefined
  /** What conversations have seen of files. Without it nothing is compared. */
  seen?: SeenFilesOfSet | undefined
}

/** Checks that a call has no other arguments than its tool. */
export interface KnownArguments {
  /** The same schema, which takes no others. */
  schema<SCHEMA>(tool: string, schema: SCHEMA): SCHEMA
  /** The arguments without optional ones that say nothing. */
  taken<ARGS>(schema: unknown, args: ARGS): ARGS
  /** For a call that no schema has checked. @throws {ToolError} INVALID_INPUT */
  refuse(tool: string, schema: unknown, args: unknown): void
}

/**
 * A root directory that is given has to exist when a set of tools is made. Otherwise only its model would learn of it, call by call.
 *
 * @throws {ToolError} INVALID_INPUT
 */
export function checkRoot({ rootDir }: ToolOptions): void {
  if (rootDir === undefined) return
  const path = resolve(rootDir)
  let found
  try {
    found = statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw invalid(`rootDir: ${path} cannot be opened (${(error as NodeJS.ErrnoException).code ?? String(error)}).`, { path })
  }
  if (found === undefined) throw invalid(`rootDir: there is no directory ${path}.`, { path })
  if (!found.isDirectory()) throw invalid(`rootDir: ${path} is no directory.`, { path })
}

/** Limits of the runtime: no longer string can be made, and a longer timer ends at once. */
const MAX_OUTPUT_BYTES = constants.MAX_STRING_LENGTH
const MAX_TIMEOUT_MS = 2_147_000_000

/** A path of a root directory. */
export const rootPath: Check<string> = (value, name) => {
  const path = text(value, name)
  if (path.includes('\0')) throw invalid(`${name} holds a NUL byte.`)
  return path
}

const bytesUpTo =
  (max: number, min = 1): Check<number> =>
  (value, name) => {
    const isLimit = typeof value === 'number' && (value > 0 || value === min) && value <= max
    if (!isLimit) throw invalid(`${name} must be a positive number of at most ${max} bytes.`)
    return value
  }

const outputBytes = positive(MAX_OUTPUT_BYTES)
const timeout = positive(MAX_TIMEOUT_MS)
const bashBytes = positive(BASH_TOOL_MAX_OUTPUT_BYTES)
const bashTimeout = positive(BASH_TOOL_MAX_TIMEOUT_MS)

const outputLimits = {
  read: optional(bytesUpTo(MAX_OUTPUT_BYTES)),
  grep: optional(bytesUpTo(MAX_OUTPUT_BYTES)),
  bash: optional(bytesUpTo(BASH_TOOL_MAX_OUTPUT_BYTES)),
  write: optional(bytesUpTo(MAX_OUTPUT_BYTES)),
  image: optional(bytesUpTo(MAX_OUTPUT_BYTES, 0)),
} satisfies Checks<OutputLimits>

/** The options of the built-in tools. */
export const toolChecks = {
  rootDir: optional(rootPath),
  allowNetwork: optional(boolean),
  maxOutputBytes: optional(outputBytes),
  limits: optional(group(outputLimits)),
  toolTimeoutMs: optional(timeout),
  networkGuard: optional(oneOf(...networkGuards)),
  env: optional(parseEnvironment),
  mask: optional(parseMask),
  sandbox: optional(parseSandbox),
  durability: optional(oneOf('process', 'fsync')),
  allowInPlace: optional(boolean),
} satisfies Checks<ToolOptions>

/** The options of one tool set. */
export const boundChecks = {
  ...toolChecks,
  journal: optional(checkJournal),
  runId: optional(text),
  nodeId: optional(text),
} satisfies Checks<BoundToolOptions>

/** The settings of a context, which are checked when a call is made. @throws {ToolError} INVALID_INPUT */
export function checkContextSettings({ rootDir, allowNetwork, maxOutputBytes, timeoutMs }: Settings): void {
  rootPath(rootDir, 'rootDir')
  boolean(allowNetwork, 'allowNetwork')
  outputBytes(maxOutputBytes, 'maxOutputBytes')
  timeout(timeoutMs, 'timeoutMs')
}

/** The same for `bash`, whose limits the documents cap. */
export function checkBashLimits({ maxOutputBytes, timeoutMs }: Settings): void {
  bashBytes(maxOutputBytes, 'maxOutputBytes')
  bashTimeout(timeoutMs, 'timeoutMs')
}

/** The resolved options of one call. */
export interface Settings {
  rootDir: string
  /** The object that grants the root. The directory stays the same as long as this object does. */
  rootHolder: object
  allowNetwork: boolean
  /** The limit for this kind of call. */
  maxOutputBytes: number
  /** The largest image that the model is shown, in bytes. */
  imageBytes: number
  /** Whether the model is shown what is in documents, and changes the cells of notebooks. */
  documents: boolean
  timeoutMs: number
  networkGuard: NetworkGuard
  env: EnvironmentOption
  mask: MaskOption
  sandbox: SandboxOptions
  durability: 'process' | 'fsync'
  allowInPlace: boolean
}

const defaults = {
  allowNetwork: false,
  maxOutputBytes: 200_000,
  timeoutMs: 60_000,
  networkGuard: 'auto',
  env: {},
  mask: 'known',
  sandbox: noSandboxOptions,
  durability: 'process',
  allowInPlace: false,
} as const

/** The options of the tools that the documents describe, whose rules replace our defaults. */
export const documentedOptions: BoundToolOptions = {}

const notConfigured: ToolOptions = {}
let configured = notConfigured

/**
 * Sets options for every tool of this process. The options of a context and of `createTools` take precedence. An omitted
 * option gets its default.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid option; then nothing changes.
 */
export function configureTools(options: ToolOptions): void {
  configured = parseOptions('configureTools', options, toolChecks)
  noteGranted(configured)
}

/** The root directory of `configureTools`. */
export const configuredRoot = (): string | undefined => configured.rootDir

/** Notes the identities of the directories that options grant, when the options are set. */
export function noteGranted(own: ToolOptions): void {
  noteRoot(own, own.rootDir)
  noteGrants(own.sandbox, own.rootDir)
}

/**
 * Resolves the options of a call: context, then `createTools`, then `configureTools`, then the defaults. Without a kind of
 * call, `maxOutputBytes` is the limit.
 */
export function resolveSettings(
  context: ToolContext | undefined,
  bound: ToolOptions & Pick<TrackedToolOptions, 'documents'>,
  kind?: LimitedKind,
): Settings {
  const rootDir = context?.rootDir ?? bound.rootDir ?? configured.rootDir ?? workingDirectory()
  noteWritablePlace(rootDir)
  const rootHolder = [context, bound, configured].find((holder) => (holder?.rootDir ?? undefined) !== undefined)
  return {
    rootHolder: rootHolder ?? theWorkingDirectory,
    // The built-in tools refuse an invalid path; a custom tool may not use it.
    rootDir: typeof rootDir === 'string' && rootDir !== '' ? resolved(rootDir) : rootDir,
    allowNetwork: context?.allowNetwork ?? bound.allowNetwork ?? configured.allowNetwork ?? defaults.allowNetwork,
    maxOutputBytes: context?.maxOutputBytes ?? limitOf(bound, kind) ?? limitOf(configured, kind) ?? defaults.maxOutputBytes,
    imageBytes: bound.limits?.image ?? configured.limits?.image ?? 0,
    documents: bound.documents === true,
    timeoutMs: context?.timeoutMs ?? bound.toolTimeoutMs ?? configured.toolTimeoutMs ?? defaults.timeoutMs,
    networkGuard: bound.networkGuard ?? configured.networkGuard ?? defaultGuard(bound),
    env: bound.env ?? configured.env ?? defaults.env,
    mask: bound.mask ?? configured.mask ?? defaults.mask,
    sandbox: bound.sandbox ?? configured.sandbox ?? defaults.sandbox,
    durability: bound.durability ?? configured.durability ?? defaults.durability,
    allowInPlace: bound.allowInPlace ?? configured.allowInPlace ?? defaults.allowInPlace,
  }
}

function limitOf(options: ToolOptions, kind: LimitedKind | undefined): number | undefined {
  return (kind === undefined ? undefined : options.limits?.[kind]) ?? options.maxOutputBytes
}

function defaultGuard(bound: ToolOptions): NetworkGuard {
  return bound === documentedOptions && configured === notConfigured ? 'tokens' : defaults.networkGuard
}

let lastResolved = { rootDir: '/', path: '/' }

/** Node's `resolve` with the last result cached, because it reads every character of a path that is nearly always the same. */
function resolved(rootDir: string): string {
  if (rootDir === lastResolved.rootDir) return lastResolved.path
  const path = resolve(rootDir)
  // A relative path depends on the working directory.
  if (isAbsolute(rootDir)) lastResolved = { rootDir, path }
  return path
}

const theWorkingDirectory = {}

function workingDirectory(): string {
  try {
    return process.cwd()
  } catch (cause) {
    throw new ToolError({
      code: 'TOOL_ROOT_INVALID',
      summary: 'The working directory no longer exists',
      hint: 'Set rootDir, or start the program in a directory that exists.',
      cause,
    })
  }
}
