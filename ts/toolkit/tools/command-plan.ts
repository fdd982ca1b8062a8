/** What is decided about a command before it starts: its input, the network guard, and the conditions it runs under. */
import { join, resolve } from 'node:path'
import type * as Addon from '../../../index.js'
import { environmentOptions, hostVariables } from '../../core/environment.js'
import { commandGrants, grantedRoot } from '../../core/grants.js'
import { type CallLimits, tryNowait } from '../../core/native.js'
import { guardNetwork, noVariables } from '../../core/network-guard/guard-network.js'
import { invalid } from '../../core/options.js'
import { sandboxRequest } from '../../core/sandbox.js'
import type { BuiltInContext } from '../define-tool.js'
import { type Settings } from '../settings.js'
import {
  BASH_TOOL_MAX_ARG_LENGTH,
  BASH_TOOL_MAX_ARGS,
  BASH_TOOL_MAX_COMMAND_LENGTH,
  BASH_TOOL_MAX_CWD_LENGTH,
  checkBashLimits,
  type ToolOptions,
} from '../tool-options.js'
import { type CallPlan, callPlan } from './call-plan.js'

/** Input of the `bash` tool. */
export interface BashInput {
  cmd: string
  args?: string[] | undefined
  opts?: { cwd?: string | undefined } | undefined
}

/** A command that may start. */
export interface CommandPlan {
  settings: (addon: typeof Addon) => Addon.CommandSettings
  command: Addon.Command
  limits: CallLimits
}

/** The addon kills the command at the timeout; this is how much later a call that hangs is given up. */
const HANG_GRACE_MS = 5_000

/** @throws {ToolError} INVALID_INPUT, TOOL_NETWORK_DISABLED, TOOL_GIT_REMOTE_DISABLED */
export function planCommand(input: BashInput, call: Pick<BuiltInContext, 'settings' | 'signal'>, bound: ToolOptions): CommandPlan {
  const { cmd, args, cwd } = checkCommand(input)
  const plan = callPlan(call)
  checkBashLimits(plan)
  const guarded = guardNetwork(plan.allowNetwork ? 'off' : plan.networkGuard, cmd, args, {
    directory: directoryWithin(plan.rootDir, cwd),
    path: (plan.env === 'inherit' ? undefined : plan.env.set?.['PATH']) ?? process.env['PATH'],
    scripts: () => packageScripts(plan, cwd),
  })
  const command: Addon.Command = { cmd, args: [...guarded.args], cwd }
  const hostEnv = hostVariables()
  if (hostEnv !== undefined) command.hostEnv = hostEnv
  if (guarded.env !== noVariables) command.extraEnv = { ...guarded.env }
  return { settings: commandSettings(plan, bound), command, limits: plan.changeLimits(`bash ${cmd}`, plan.timeoutMs + HANG_GRACE_MS) }
}

/** Where the command runs; `undefined` outside the root, where the guard looks for nothing and the addon refuses the command. */
function directoryWithin(rootDir: string, cwd: string): string | undefined {
  const directory = resolve(rootDir, cwd)
  const isWithin = directory === rootDir || directory.startsWith(rootDir.endsWith('/') ? rootDir : `${rootDir}/`)
  return isWithin ? directory : undefined
}

/** The scripts of the package.json where the command runs, for an error that names what can be run instead. */
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

function checkCommand({ cmd, args = [], opts }: BashInput): { cmd: string; args: string[]; cwd: string } {
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
    // A C string ends there: another command would run.
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

/** The last conditions of each tool set: options hardly ever change between two commands. */
const cached = new WeakMap<ToolOptions, { plan: Settings; root: Addon.GrantedRoot; native: Addon.CommandSettings }>()

/** The conditions under which a command runs, as the addon takes them. */
function commandSettings(plan: Settings, bound: ToolOptions): CommandPlan['settings'] {
  return (addon) => {
    const last = cached.get(bound)
    const root = grantedRoot(addon, plan)
    if (last !== undefined && last.root === root && isSame(last.plan, plan)) return last.native
    const options = {
      environment: environmentOptions(plan.env, plan.allowNetwork),
      sandbox: sandboxRequest(plan.sandbox, plan.allowNetwork),
      limitBytes: plan.maxOutputBytes,
      timeoutMs: plan.timeoutMs,
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
    a.sandbox === b.sandbox
  )
}
