import { noteGrants } from '../../core/grants.js'
import { type KeepOptions, type KeptProcess, startProcess } from '../../core/kept-process.js'
import { noVariables } from '../../core/network-guard/guard-network.js'
import type { SandboxOptions } from '../../core/sandbox.js'
import type { BoundToolOptions } from '../settings.js'
import { type CallPlan, commandOf, commandSettings } from './call-plan.js'

/** A program of ours, and its limits. */
interface ConfinedProgram {
  what: string
  command: readonly string[]
  memoryBytes: number
  timeoutMs: number
}

/** Starts a program of ours in the sandbox of commands, without a network. */
export function startConfined(
  plan: CallPlan,
  bound: BoundToolOptions,
  { what, command: [cmd = '', ...args], memoryBytes, timeoutMs }: ConfinedProgram,
  signal: AbortSignal | undefined,
  io: KeepOptions,
): Promise<KeptProcess> {
  const own = confined(plan, memoryBytes)
  return startProcess(
    { signal, timeoutMs, what },
    (addon, keep, cancel) =>
      addon.startProcess(commandSettings(own, { ...bound })(addon), commandOf({ cmd, args, cwd: '.' }, noVariables), keep, cancel),
    io,
  )
}

/**
 * The plan for a program of ours beside the commands of a set: their sandbox, without a network, and with a limit of memory. What it
 * prints is a protocol, of which nothing is masked.
 */
function confined(plan: CallPlan, memoryBytes: number): CallPlan {
  const { network: _network, limits, ...sandbox } = plan.sandbox
  const least = Math.min(memoryBytes, limits?.memoryBytes ?? Infinity)
  const own: SandboxOptions = { ...sandbox, limits: { ...limits, memoryBytes: least } }
  noteGrants(own, plan.rootDir)
  return { ...plan, allowNetwork: false, mask: false, sandbox: own }
}
