import { noteForkAsRoot } from '../core/grants.js'
import { CommandPatches } from '../core/command-patches.js'
import { ToolError } from '../core/errors.js'
import { stream } from '../core/native.js'
import type { Fork } from '../fork/fork.js'
import { BASH_TOOL_MAX_OUTPUT_BYTES, BASH_TOOL_MAX_TIMEOUT_MS, resolveSettings } from './settings.js'
import { planCommand } from './tools/call-plan.js'

/** How a command in a fork is run. */
export interface ForkCommandOptions {
  allowNetwork: boolean
  signal: AbortSignal
  /** Gets the output as it comes. */
  onText(text: string): void
}

/**
 * Runs a command in a fork, behind the sandbox, and returns its exit code.
 *
 * @throws {ToolError} if it cannot be run, and at its time limit of an hour.
 */
export async function runInFork(fork: Fork, [cmd = '', ...args]: readonly string[], options: ForkCommandOptions): Promise<number> {
  const { allowNetwork, signal, onText } = options
  const bound = {
    rootDir: fork.base,
    allowNetwork,
    toolTimeoutMs: BASH_TOOL_MAX_TIMEOUT_MS,
    maxOutputBytes: BASH_TOOL_MAX_OUTPUT_BYTES,
  }
  noteForkAsRoot(bound, fork)
  const { settings, command, limits } = planCommand({ cmd, args }, { settings: resolveSettings(undefined, bound, 'bash'), signal }, bound)
  const patches = new CommandPatches()
  const events = stream(limits, (addon, cancel) =>
    addon.bashStream(settings(addon), command, cancel, patches.of(addon, [command.cmd, ...command.args])),
  )
  try {
    for await (const { text, cut } of events) {
      onText(text)
      if (cut) onText('\n[the rest of the output is left out]\n')
    }
    return 0
  } catch (error) {
    const exitCode = ToolError.isInstance(error) && error.code === 'TOOL_COMMAND_FAILED' ? error.details['exitCode'] : undefined
    if (typeof exitCode === 'number') return exitCode
    throw error
  }
}
