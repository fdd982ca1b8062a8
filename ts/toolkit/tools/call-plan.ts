import { join, resolve } from 'node:path'
import type * as Addon from '../../../index.js'
import { environmentOptions, hostVariables } from '../../core/environment.js'
import { ToolError } from '../../core/errors.js'
import { commandGrants, grantedRoot } from '../../core/grants.js'
import { masked } from '../../core/mask.js'
import { type CallLimits, tryNowait } from '../../core/native.js'
import { isWithin } from '../../core/near-paths.js'
import { type GuardedCommand, guardNetwork, noVariables } from '../../core/network-guard/guard-network.js'
import { invalid, string } from '../../core/options.js'
import { reachesAll, sandboxRequest } from '../../core/sandbox.js'
import { boundedPath } from '../../core/text.js'
import { getToolContext } from '../../journal/calls/context.js'
import type { BuiltInContext } from '../define-tool.js'
import type { BashGrant } from '../grants.js'
import {
  BASH_TOOL_MAX_ARG_LENGTH,
  BASH_TOOL_MAX_ARGS,
  BASH_TOOL_MAX_COMMAND_LENGTH,
  BASH_TOOL_MAX_CWD_LENGTH,
  checkBashLimits,
  checkContextSettings,
  documentedOptions,
  type LimitedKind,
  resolveSettings,
  type Settings,
  type ToolOptions,
  type TrackedToolOptions,
} from '../settings.js'

/** The parts of a call's context that a tool needs. Calls of documented functions have no others. */
export type CallSettings = Pick<BuiltInContext, 'settings' | 'signal' | 'patches' | 'seen'>

/** The timeout of a file operation, in milliseconds, so that a disk that does not answer cannot block an agent for ever. */
const FILE_TIMEOUT_MS = 60_000
/** How long a timed-out write or edit may still report its outcome, in milliseconds. */
const CHANGE_GRACE_MS = 2_000

/** The checked settings of one call, in the forms that its tool needs. */
export interface CallPlan extends Settings {
  signal: AbortSignal | undefined
  /** How a change is published that no model makes. */
  publish: Addon.PublishOptions
  /** How a change of the model is published. */
  publishSeen(addon: typeof Addon): Addon.PublishOptions
  /** The files that the model has seen, for the addon. */
  seen(addon: typeof Addon): Addon.SeenFiles | undefined
  /** Limits of a call that only reads. */
  limits(what: string, timeoutMs?: number): CallLimits
  /** Limits of a call that changes something. */
  changeLimits(what: string, timeoutMs?: number): CallLimits
}

/** @throws {ToolError} INVALID_INPUT for invalid settings of a context. */
export function callPlan({ settings, signal, seen }: CallSettings): CallPlan {
  checkContextSettings(settings)
  const limits = (what: string, timeoutMs = FILE_TIMEOUT_MS): CallLimits => ({ signal, timeoutMs, what })
  const publish: Addon.PublishOptions = {
    fsync: settings.durability === 'fsync',
    allowInPlace: settings.allowInPlace,
    waitMs: FILE_TIMEOUT_MS,
    ...(settings.sandbox.denyWrite === undefined ? {} : { denyWrite: [...settings.sandbox.denyWrite] }),
  }
  return {
    ...settings,
    signal,
    publish,
    publishSeen: (addon) => {
      const shown = settings.documents ? { ...publish, notebooks: true } : publish
      return seen === undefined ? shown : { ...shown, seen: seen.native(addon) }
    },
    seen: (addon) => seen?.native(addon),
    limits,
    changeLimits: (what, timeoutMs) => ({ ...limits(what, timeoutMs), graceMs: CHANGE_GRACE_MS }),
  }
}

/** The settings of the current context and of `configureTools`, for a call of a documented function. */
export function directCall(kind: LimitedKind): CallSettings {
  const ambient = getToolContext()
  return { settings: resolveSettings(ambient, documentedOptions, kind), signal: ambient?.signal }
}

/** The path as text. @throws {ToolError} TOOL_PATH_INVALID */
export function pathText(path: unknown): string {
  if (typeof path === 'string') return boundedPath(path)
  throw new ToolError({
    code: 'TOOL_PATH_INVALID',
    summary: 'Path must be a string',
    hint: 'Give the path of a file below the root directory.',
  })
}

/** A path and the text to write there. The addon judges the size of the text before it refuses an empty path. */
export function changeOf(path: unknown, name: string, text: unknown): { target: string; text: string } {
  return { text: string(text, name), target: typeof path === 'string' ? boundedPath(path) : '' }
}

/** Input of the `bash` tool. */
export interface BashInput {
  cmd: string
  args?: string[] | undefined
  opts?: { cwd?: string | undefined } | undefined
  /** One path or host more for this command, which the user is asked about. In sets with `onGrant` only. */
  grant?: BashGrant | undefined
}

export interface CommandPlan {
  settings: (addon: typeof Addon) => Addon.CommandSettings
  command: Addon.Command
  limits: CallLimits
}

/** The addon kills the command at its timeout. A hanging call ends this much later, in milliseconds. */
export const HANG_GRACE_MS = 5_000

/** @throws {ToolError} INVALID_INPUT, TOOL_NETWORK_DISABLED, TOOL_GIT_REMOTE_DISABLED */
export function planCommand(input: BashInput, call: CallSettings, bound: ToolOptions): CommandPlan {
  const { cmd, args, cwd } = checkCommand(input)
  const plan = callPlan(call)
  checkBashLimits(plan)
  const guarded = guardCommand(plan, cmd, args, cwd)
  const command = commandOf({ cmd, args: guarded.args, cwd }, guarded.env)
  return { settings: commandSettings(plan, bound), command, limits: plan.changeLimits(`bash ${cmd}`, plan.timeoutMs + HANG_GRACE_MS) }
}

/**
 * Refuses a command that the network guard of the settings refuses.
 *
 * @throws {ToolError} TOOL_NETWORK_DISABLED, TOOL_GIT_REMOTE_DISABLED
 */
export function guardCommand(plan: CallPlan, cmd: string, args: readonly string[], cwd: string): GuardedCommand {
  const isOpen = plan.allowNetwork || plan.sandbox.network !== undefined
  return guardNetwork(isOpen ? 'off' : plan.networkGuard, cmd, args, {
    directory: directoryWithin(plan.rootDir, cwd),
    path: (plan.env === 'inherit' ? undefined : plan.env.set?.['PATH']) ?? process.env['PATH'],
    scripts: () => packageScripts(plan, cwd),
  })
}

/** A command for the addon; `extraEnv` joins the host's variables. */
export function commandOf(
  { cmd, args, cwd }: { cmd: string; args: readonly string[]; cwd: string },
  extraEnv: Readonly<Record<string, string>>,
): Addon.Command {
  const command: Addon.Command = { cmd, args: [...args], cwd }
  const hostEnv = hostVariables()
  if (hostEnv !== undefined) command.hostEnv = hostEnv
  if (extraEnv !== noVariables) command.extraEnv = { ...extraEnv }
  return command
}

/** The directory of the command; `undefined` outside the root, where the guard reads no file and the addon refuses the command. */
function directoryWithin(rootDir: string, cwd: string): string | undefined {
  // The root is resolved, and most commands run there.
  const directory = cwd === '.' ? rootDir : resolve(rootDir, cwd)
  return isWithin(rootDir, directory) ? directory : undefined
}

/** The scripts of the package.json in the command's directory, for an error that names a script to run instead. */
function packageScripts(plan: CallPlan, cwd: string): Readonly<Record<string, unknown>> {
  try {
    const file = tryNowait(undefined, (addon) =>
      addon.tryReadCached(grantedRoot(addon, plan), join(cwd, 'package.json'), MAX_PACKAGE_BYTES, false),
    )
    const scripts = (JSON.parse(file?.toString() ?? '') as { scripts?: unknown } | null)?.scripts
    return typeof scripts === 'object' && scripts !== null ? (scripts as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

const MAX_PACKAGE_BYTES = 100_000

/** The parts of a command. @throws {ToolError} INVALID_INPUT */
export function checkCommand({ cmd, args = [], opts }: BashInput): { cmd: string; args: string[]; cwd: string } {
  if (typeof cmd !== 'string' || cmd.trim() === '') throw invalid('cmd must be a non-empty string.')
  checkLength('cmd', cmd, BASH_TOOL_MAX_COMMAND_LENGTH)
  if (!Array.isArray(args)) throw invalid('args must be an array.')
  if (args.length > BASH_TOOL_MAX_ARGS) throw invalid(`args exceeds ${BASH_TOOL_MAX_ARGS} entries.`)
  // By index: a hole in the array is no string either.
  for (let index = 0; index < args.length; index += 1) {
    checkLength(`args[${index}]`, args[index], BASH_TOOL_MAX_ARG_LENGTH)
  }
  const cwd = opts?.cwd ?? '.'
  checkLength('opts.cwd', cwd, BASH_TOOL_MAX_CWD_LENGTH)
  for (const [index, text] of [cmd, ...args].entries()) {
    // A C string ends at a NUL, so another command would run.
    if (text.includes('\0')) throw invalid(`${index === 0 ? 'cmd' : `args[${index - 1}]`} holds a NUL byte.`)
  }
  return { cmd, args, cwd }
}

function checkLength(name: string, text: unknown, maxLength: number): void {
  if (typeof text !== 'string') throw invalid(`${name} must be a string.`)
  if (text.length > maxLength) {
    throw invalid(`${name} exceeds ${maxLength} characters.`, { maxLength, length: text.length })
  }
}

/** The last conditions of each tool set, cached because options rarely change between two commands. */
const cached = new WeakMap<ToolOptions, { plan: Settings; root: Addon.GrantedRoot; native: Addon.CommandSettings }>()

/** The conditions of commands under these settings. */
export function commandSettings(plan: Settings, bound: TrackedToolOptions): CommandPlan['settings'] {
  return (addon) => {
    const last = cached.get(bound)
    const root = grantedRoot(addon, plan)
    if (last !== undefined && last.root === root && isSame(last.plan, plan)) return last.native
    const options = {
      environment: environmentOptions(plan.env, reachesAll(plan.sandbox, plan.allowNetwork)),
      ...masked(plan.mask),
      sandbox: sandboxRequest(plan.sandbox, plan.allowNetwork),
      limitBytes: plan.maxOutputBytes,
      timeoutMs: plan.timeoutMs,
      startsProcesses: bound.startsProcesses === true,
    }
    const native = new addon.CommandSettings(options, commandGrants(addon, root, plan.sandbox))
    cached.set(bound, { plan, root, native })
    return native
  }
}

/** Options of tool sets and of the process are frozen copies, so the same object means the same options. */
function isSame(a: Settings, b: Settings): boolean {
  return (
    a.allowNetwork === b.allowNetwork &&
    a.maxOutputBytes === b.maxOutputBytes &&
    a.timeoutMs === b.timeoutMs &&
    a.env === b.env &&
    a.mask === b.mask &&
    a.sandbox === b.sandbox
  )
}
