import { ToolError } from '../../core/errors.js'
import { guardNetwork, type NetworkGuard } from '../../core/network-guard/guard-network.js'
import { invalid } from '../../core/options.js'
import { loadContractAddon } from '../permissions/session-capabilities.js'
import type { Watchdog, WatchedCall } from './watchdog.js'

const guards: readonly unknown[] = ['tokens', 'commands', 'fragments']

/**
 * A watchdog that refuses command lines with network programs, web addresses or remote operations of git, by one of the
 * rules of `networkGuard`. It is an early, well explained refusal; the boundary is the sandbox.
 *
 * @throws {ToolError} INVALID_INPUT for an unknown rule.
 */
export function networkWatchdog(guard: Exclude<NetworkGuard, 'off'> = 'tokens'): Watchdog {
  // An unknown guard would refuse nothing.
  if (!guards.includes(guard)) throw invalid(`networkWatchdog takes one of ${guards.join(', ')}.`)
  return async (call) => {
    const { command } = ['bash', 'process_start'].includes(call.tool) ? (call.args as { command?: unknown }) : {}
    if (typeof command !== 'string') return { action: 'allow' }
    try {
      if (guard === 'commands') guardNetwork(guard, 'sh', ['-c', command])
      else if (guard === 'tokens') for (const [program = '', ...args] of await wordsOf(call, command)) guardNetwork(guard, program, args)
      else guardNetwork(guard, command, [])
      return { action: 'allow' }
    } catch (error) {
      if (!ToolError.isInstance(error)) throw error
      const { token } = error.details
      const next = 'Work with what is on this machine; if the task cannot be done without the network, say so.'
      return { action: 'deny', reason: `${error.summary}: \`${String(token)}\`. ${next}` }
    }
  }
}

/** The words of each command of a line. Where they depend on variables or substitutions, the text is split at white space. */
async function wordsOf({ commands }: WatchedCall, line: string): Promise<string[][]> {
  const parsed: readonly { argv?: readonly string[] | undefined; text: string }[] =
    commands ?? (await loadContractAddon()).parseCommandLine(line)
  return parsed.map(({ argv, text }) => [...(argv ?? text.split(/\s+/u))])
}
