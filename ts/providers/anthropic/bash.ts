/** `anthropic.tools.bash_*`: command lines of one session. */
import type { FlexibleSchema } from 'ai'
import { z } from 'zod'
import { boolean, invalid, optional } from '../../core/options.js'
import type { ToolCallOptions } from '../../journal/calls/call-record.js'
import { recordedFunction } from '../../toolkit/built-in-call.js'
import type { BuiltInContext } from '../../toolkit/define-tool.js'
import { describedExecutor } from '../../toolkit/described-executor.js'
import { captureNotes, exitCodeOf, stderrWithNotes } from '../command/capture-command.js'
import { commandLine, limitTogether } from '../command/limits.js'
import { refuseWithout } from '../argument-habits.js'
import type { ProviderSettings } from '../settings.js'
import { BashSession } from './bash-session.js'

/** A command of the session, or a request to restart it. */
export interface AnthropicBashInput {
  /** The command line. */
  command?: string | undefined
  /** Whether to reset the session first. */
  restart?: boolean | undefined
}

/** The output of the command. */
export interface AnthropicBashOutput {
  stdout: string
  stderr: string
  /** The exit code: 124 after a timeout, 128 plus the number of the signal after a signal. */
  exitCode: number
}

/** A restart needs no command. The AI SDK's own schema requires one, and answers a restart with an error. */
export const bashInput: FlexibleSchema<AnthropicBashInput> = z.union([
  z.object({ command: z.string(), restart: z.boolean().optional() }),
  z.object({ restart: z.literal(true), command: z.string().optional() }),
])

/**
 * Runs a command of the session.
 *
 * @throws {ToolError} if the command was not run. An exit code, a signal and a timeout are results.
 */
export type AnthropicBashFunction = (input: AnthropicBashInput, options?: ToolCallOptions) => Promise<AnthropicBashOutput>

export function createBash({ bound }: ProviderSettings): { bash: AnthropicBashFunction; close: () => Promise<void> } {
  const session = new BashSession(bound)
  const bash = recordedFunction(
    { name: 'bash', sideEffect: true, kind: 'bash', execute: (input: AnthropicBashInput, call) => runInSession(input, call, session) },
    bound,
  )
  return { bash: describedExecutor('bash', bash), close: () => session.close() }
}

const RESTARTED = 'tool has been restarted.'

async function runInSession(input: AnthropicBashInput, call: BuiltInContext, session: BashSession): Promise<AnthropicBashOutput> {
  const restart = optional(boolean, false)(input.restart, 'restart')
  const line = input.command === undefined || input.command === '' ? undefined : commandLine(input.command, 'command')
  if (restart) await session.restart(call)
  if (line === undefined) {
    if (restart) return { stdout: RESTARTED, stderr: '', exitCode: 0 }
    const names = ['command', 'restart']
    if (Object.keys(input).some((name) => !names.includes(name))) refuseWithout('bash', 'command', { ...input, command: undefined }, names)
    throw invalid('no command provided.')
  }
  const ended = await session.run(line, call)
  const { timeoutMs, maxOutputBytes } = call.settings
  const timeout = ended.timedOut
    ? `The command was killed after ${timeoutMs} ms, with everything it had started. The session goes on as it was before the command.`
    : undefined
  const stderr = stderrWithNotes(ended.stderr, [timeout, ...captureNotes(ended)])
  return { ...limitTogether(ended.stdout, stderr, maxOutputBytes), exitCode: exitCodeOf(ended) }
}
