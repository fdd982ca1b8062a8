import { isAbsolute, resolve } from 'node:path'
import { noteGrants } from '../core/command-grants.js'
import type { ToolContext } from './context.js'
import { ToolError } from '../core/errors.js'
import { noteRoot } from '../core/granted-root.js'
import type { Journal } from '../journal/journal.js'
import { checked, checkNames, invalid, ownCopy, takenOptions } from '../core/options.js'
import { checkEnvironment, checkLimits, checkOutputLimits, checkRootDir, checkSwitch, widest } from './setting-checks.js'
import { checkSandbox, noSandboxOptions, type SandboxOptions } from '../core/sandbox.js'
import { BASH_TOOL_MAX_OUTPUT_BYTES, BASH_TOOL_MAX_TIMEOUT_MS } from './tools/bash-limits.js'
import { type NetworkGuard, networkGuards } from '../core/network-guard/guard-network.js'

/** Options of the built-in tools: of `createTools` for one set, of `configureTools` for all. */
export interface ToolOptions {
  /** The directory tools are confined to. @default `process.cwd()` when the call is made */
  rootDir?: string | undefined
  /** Whether `bash` may reach the network. @default false */
  allowNetwork?: boolean | undefined
  /** The most bytes one call gives back or takes in; `bash` takes at most 10,485,760. @default 200000 */
  maxOutputBytes?: number | undefined
  /** The most bytes of one kind of call, where it is not `maxOutputBytes`. */
  limits?: OutputLimits | undefined
  /** When `bash` and `grep` are killed, in milliseconds; `bash` at most after one hour. @default 60000 */
  toolTimeoutMs?: number | undefined
  /**
   * Which commands `bash` refuses beforehand while the network is blocked. `auto` refuses what can do
   * nothing without the network (`npm install`, `git push`, `curl https://…`), where the kernel holds
   * the network, and elsewhere what `tokens` does; `tokens` refuses every token that is a network
   * program or a web address, `commands` only where a command stands, `fragments` any such text
   * anywhere, `off` nothing.
   * @default 'auto'; of the tools of `toolwright/tools` before `configureTools` is called, 'tokens'
   */
  networkGuard?: NetworkGuard | undefined
  /**
   * The environment of commands. By default without what looks like a secret or injects code;
   * `'inherit'` passes all; `allow` passes names in spite of that (`*` stands for any text), `set`
   * adds variables.
   */
  env?: EnvironmentOption | undefined
  /**
   * How the kernel confines `bash`, and what `write` and `edit` may not touch. By default commands
   * write to the root directory and a private temporary directory, cannot read credential stores,
   * and leave no process behind.
   */
  sandbox?: SandboxOptions | undefined
  /**
   * What `write` and `edit` have survived when they return: `process` is the death of every
   * process, `fsync` the loss of power too. @default 'process'
   */
  durability?: 'process' | 'fsync' | undefined
  /**
   * Whether `write` and `edit` may overwrite a file in place where it cannot be replaced in one
   * step (its directory is not writable, its owner cannot be kept, it is a bind mount). A crash can
   * then leave a mixture. @default false
   */
  allowInPlace?: boolean | undefined
}

/** The most bytes that one call gives back or takes in, by kind. */
export interface OutputLimits {
  /** What `read` gives back. @default maxOutputBytes */
  read?: number | undefined
  /** What `grep` gives back. @default maxOutputBytes */
  grep?: number | undefined
  /** What `bash` gives back, at most 10,485,760. @default maxOutputBytes */
  bash?: number | undefined
  /** What `write` takes, and the patch and the file of `edit`. @default maxOutputBytes */
  write?: number | undefined
  /**
   * The largest image that `read` of `createTools` shows to the model, as a file part of the result. Only for models
   * and providers that take images in results: others are sent the bytes as text.
   * @default 0, which refuses images as TOOL_FILE_BINARY
   */
  image?: number | undefined
}

/** Kinds of calls that `maxOutputBytes` limits. */
export type LimitedKind = 'read' | 'grep' | 'bash' | 'write'

/** Options of one set of tools. */
export interface BoundToolOptions extends ToolOptions {
  /**
   * Where calls are recorded: what `openJournal` gave. Inside `runTask` they are recorded as calls of
   * that task; outside, as those of a run of this set of tools: {@link BoundToolOptions.runId} and `nodeId`.
   */
  journal?: Journal | undefined
  /** The run that calls outside of a task are recorded as: a request, a job, a conversation. @default a new UUID */
  runId?: string | undefined
  /** The node of that run. @default 'agent' */
  nodeId?: string | undefined
}

/** Which variables of the environment reach commands. */
export type EnvironmentOption = 'inherit' | { allow?: readonly string[] | undefined; set?: Readonly<Record<string, string>> | undefined }

/** The options in force for one call. */
export interface Settings {
  rootDir: string
  /** What has granted it: the directory stays the same for as long as this does. */
  rootHolder: object
  allowNetwork: boolean
  /** Of the kind of call that they are for. */
  maxOutputBytes: number
  /** The largest image that is shown. */
  imageBytes: number
  timeoutMs: number
  networkGuard: NetworkGuard
  env: EnvironmentOption
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
  sandbox: noSandboxOptions,
  durability: 'process',
  allowInPlace: false,
} as const

/** The options of the tools that the documents describe: a rule that they give goes before our default. */
export const documentedOptions: BoundToolOptions = {}
const documentedGuard: NetworkGuard = 'tokens'

const notConfigured: ToolOptions = {}
let configured = notConfigured

/**
 * Sets options for every tool of this process. What a context says, and what `createTools` was
 * given, goes before; an option left out keeps its default.
 *
 * @throws {ToolError} INVALID_INPUT for an option that makes no sense; nothing is changed then.
 */
export function configureTools(options: ToolOptions): void {
  configured = checked('configureTools', () => ownOptions(options))
  noteGranted(configured)
}

/** The root directory of `configureTools`. */
export const configuredRoot = (): string | undefined => configured.rootDir

/** Notes which directories options grant, now that they are given. */
export function noteGranted(own: ToolOptions): void {
  noteRoot(own, own.rootDir)
  noteGrants(own.sandbox, own.rootDir)
}

/** Options that make sense, as a copy that no caller can change afterwards. `besides` are others that are known. */
export function ownOptions<OPTIONS extends ToolOptions>(options: OPTIONS, besides: readonly string[] = []): OPTIONS {
  const names = [...optionNames, ...besides]
  checkNames('', options, names)
  const own = takenOptions(options, names)
  if (typeof own.env === 'object' && own.env !== null) own.env = ownCopy(own.env)
  if (typeof own.sandbox === 'object' && own.sandbox !== null) own.sandbox = ownCopy(own.sandbox)
  if (typeof own.limits === 'object' && own.limits !== null) own.limits = ownCopy(own.limits)
  checkOptions(own, besides)
  return own
}

/** By name, so that the compiler misses one that is new. */
const optionNames = Object.keys({
  rootDir: true,
  allowNetwork: true,
  maxOutputBytes: true,
  limits: true,
  toolTimeoutMs: true,
  networkGuard: true,
  env: true,
  sandbox: true,
  durability: true,
  allowInPlace: true,
} satisfies Record<keyof ToolOptions, true>)

/** Refuses options that make no sense, before any call is made with them. `besides` are others that are known. */
export function checkOptions(options: ToolOptions, besides: readonly string[] = []): void {
  checkNames('', options, [...optionNames, ...besides])
  if (options.rootDir !== undefined) checkRootDir(options.rootDir)
  checkSwitch('allowNetwork', options.allowNetwork ?? defaults.allowNetwork)
  checkSwitch('allowInPlace', options.allowInPlace ?? defaults.allowInPlace)
  checkLimits(options.maxOutputBytes ?? 1, options.toolTimeoutMs ?? 1, widest, 'toolTimeoutMs')
  if (options.limits !== undefined) checkOutputLimits(options.limits)
  if (options.networkGuard !== undefined && !networkGuards.includes(options.networkGuard)) {
    throw invalid(`networkGuard must be one of ${networkGuards.join(', ')}.`)
  }
  if (options.env !== undefined) checkEnvironment(options.env)
  if (options.sandbox !== undefined) checkSandbox(options.sandbox)
  if (options.durability !== undefined && !['process', 'fsync'].includes(options.durability)) {
    throw invalid("durability must be 'process' or 'fsync'.")
  }
}

/**
 * The options in force: context, then `createTools`, then `configureTools`, then the defaults. Without a kind of call
 * the limit is that of all.
 */
export function resolveSettings(context: ToolContext | undefined, bound: ToolOptions, kind?: LimitedKind): Settings {
  const rootDir = context?.rootDir ?? bound.rootDir ?? configured.rootDir ?? workingDirectory()
  const rootHolder = [context, bound, configured].find((holder) => (holder?.rootDir ?? undefined) !== undefined)
  return {
    rootHolder: rootHolder ?? theWorkingDirectory,
    // What is no path stays as it is, for `checkSettings` to refuse: a custom tool may not mind.
    rootDir: typeof rootDir === 'string' && rootDir !== '' ? resolved(rootDir) : rootDir,
    allowNetwork: context?.allowNetwork ?? bound.allowNetwork ?? configured.allowNetwork ?? defaults.allowNetwork,
    maxOutputBytes: context?.maxOutputBytes ?? limitOf(bound, kind) ?? limitOf(configured, kind) ?? defaults.maxOutputBytes,
    imageBytes: bound.limits?.image ?? configured.limits?.image ?? 0,
    timeoutMs: context?.timeoutMs ?? bound.toolTimeoutMs ?? configured.toolTimeoutMs ?? defaults.timeoutMs,
    networkGuard: bound.networkGuard ?? configured.networkGuard ?? defaultGuard(bound),
    env: bound.env ?? configured.env ?? defaults.env,
    sandbox: bound.sandbox ?? configured.sandbox ?? defaults.sandbox,
    durability: bound.durability ?? configured.durability ?? defaults.durability,
    allowInPlace: bound.allowInPlace ?? configured.allowInPlace ?? defaults.allowInPlace,
  }
}

function limitOf(options: ToolOptions, kind: LimitedKind | undefined): number | undefined {
  return (kind === undefined ? undefined : options.limits?.[kind]) ?? options.maxOutputBytes
}

function defaultGuard(bound: ToolOptions): NetworkGuard {
  return bound === documentedOptions && configured === notConfigured ? documentedGuard : defaults.networkGuard
}

let lastResolved = { given: '/', path: '/' }

/** As `resolve`, which looks at every character of what is nearly always the same path. */
function resolved(given: string): string {
  if (given === lastResolved.given) return lastResolved.path
  const path = resolve(given)
  // What is relative has another meaning in another working directory.
  if (isAbsolute(given)) lastResolved = { given, path }
  return path
}

/** Grants the directory that the process works in; another one, once it works elsewhere. */
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

/**
 * Refuses settings that make no sense: those of a context have not been looked at before a call.
 *
 * @throws {ToolError} INVALID_INPUT
 */
export function checkSettings(settings: Settings): void {
  checkRootDir(settings.rootDir)
  checkSwitch('allowNetwork', settings.allowNetwork)
  checkLimits(settings.maxOutputBytes, settings.timeoutMs, widest)
}

/** The same for `bash`, whose limits the documents cap. */
export function checkBashLimits({ maxOutputBytes, timeoutMs }: Settings): void {
  checkLimits(maxOutputBytes, timeoutMs, {
    outputBytes: BASH_TOOL_MAX_OUTPUT_BYTES,
    timeoutMs: BASH_TOOL_MAX_TIMEOUT_MS,
  })
}
