import { ToolError } from '../../core/errors.js'
import { invalid } from '../../core/options.js'
import { guardNetwork, type NetworkGuard } from '../../core/network-guard/guard-network.js'
import type { Watchdog } from './watchdog.js'

const guards: readonly unknown[] = ['tokens', 'commands', 'fragments']

/**
 * A watchdog that refuses command lines that name network programs, web addresses or remote operations of
 * git, by one of the rules of `networkGuard`. It is an early, well explained refusal; the boundary is the
 * sandbox.
 *
 * @throws {ToolError} INVALID_INPUT for a rule that there is not.
 */
export function networkWatchdog(guard: Exclude<NetworkGuard, 'off'> = 'tokens'): Watchdog {
  // A guard that nobody knows refuses nothing.
  if (!guards.includes(guard)) throw invalid(`networkWatchdog takes one of ${guards.join(', ')}.`)
  return ({ tool, args }) => {
    const command = tool === 'bash' ? (args as { command?: unknown }).command : undefined
    if (typeof command !== 'string') return { action: 'allow' }
    try {
      if (guard === 'commands') guardNetwork(guard, 'sh', ['-c', command])
      // What a shell takes for the end of a word is one here too.
      else guardNetwork(guard, guard === 'tokens' ? command.replace(/[;&|()<>`$"'{}\\]+/gu, ' ') : command, [])
      return { action: 'allow' }
    } catch (error) {
      if (!ToolError.isInstance(error)) throw error
      const { token } = error.details
      const next = 'Work with what is on this machine; if the task cannot be done without the network, say so.'
      return { action: 'deny', reason: `${error.summary}: \`${String(token)}\`. ${next}` }
    }
  }
}
