import { isAbsolute, resolve } from 'node:path'
import type { EnvironmentOption } from '../core/environment.js'
import { ToolError } from '../core/errors.js'
import { noteGrants, noteRoot } from '../core/grants.js'
import type { NetworkGuard } from '../core/network-guard/guard-network.js'
import { parseOptions } from '../core/options.js'
import { noSandboxOptions, type SandboxOptions } from '../core/sandbox.js'
import type { ToolContext } from '../journal/calls/context.js'
import { type BoundToolOptions, type LimitedKind, toolChecks, type ToolOptions } from './tool-options.js'

/** The options in force for one call. */
export interface Settings {
  rootDir: string
  /** The object that grants it: the directory stays the same as long as this object does. */
  rootHolder: object
  allowNetwork: boolean
  /** The limit for this kind of call. */
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

/** The options of the tools that the documents describe, whose rules replace our defaults. */
export const documentedOptions: BoundToolOptions = {}
const documentedGuard: NetworkGuard = 'tokens'

const notConfigured: ToolOptions = {}
let configured = notConfigured

/**
 * Sets options for every tool of this process. The options of a context and of `createTools` take precedence; an option
 * that is left out keeps its default.
 *
 * @throws {ToolError} INVALID_INPUT for an option that makes no sense; nothing is changed then.
 */
export function configureTools(options: ToolOptions): void {
  configured = parseOptions('configureTools', options, toolChecks)
  noteGranted(configured)
}

/** The root directory of `configureTools`. */
export const configuredRoot = (): string | undefined => configured.rootDir

/** Notes which directories options grant, at the time when they are set. */
export function noteGranted(own: ToolOptions): void {
  noteRoot(own, own.rootDir)
  noteGrants(own.sandbox, own.rootDir)
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
    // What is no path is refused by the built-in tools; a custom tool may not use it.
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

let lastResolved = { rootDir: '/', path: '/' }

/** As `resolve`, which reads every character, with the last result cached: the path is nearly always the same. */
function resolved(rootDir: string): string {
  if (rootDir === lastResolved.rootDir) return lastResolved.path
  const path = resolve(rootDir)
  // A relative path depends on the working directory.
  if (isAbsolute(rootDir)) lastResolved = { rootDir, path }
  return path
}

/** Stands for the working directory of the process as the holder of a root. */
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
