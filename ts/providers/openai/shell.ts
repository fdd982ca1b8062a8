/** `openai.tools.shell`: command lines in order, each with its own output and outcome. */
import { ToolError } from '../../core/errors.js'
import { invalid } from '../../core/options.js'
import type { ToolCallOptions } from '../../journal/calls/call-record.js'
import { recordedFunction } from '../../toolkit/built-in-call.js'
import type { BuiltInContext } from '../../toolkit/define-tool.js'
import { describedExecutor } from '../../toolkit/described-executor.js'
import { shellFor } from '../../toolkit/tools/start-line.js'
import { captureCommand, exitCodeOf, captureNotes, stderrWithNotes } from '../command/capture-command.js'
import { commandLine, limitTogether, outputLimit, shortened, timeoutOf } from '../command/limits.js'
import { failureText } from '../../toolkit/tools/model-errors.js'
import type { ProviderSettings } from '../settings.js'

/** The action of a model for the shell. */
export interface ShellAction {
  /** Command lines, run in this order. */
  commands: string[]
  /** The timeout of each command, in milliseconds. */
  timeoutMs?: number | undefined
  /** The most characters of stdout and stderr together, of each command. */
  maxOutputLength?: number | undefined
}

/** How a command ended. */
export type ShellOutcome = { type: 'exit'; exitCode: number } | { type: 'timeout' }

/** The output of a command, and how it ended. A type and no interface, so that records with more fields are assignable. */
export type ShellCommandOutput = {
  stdout: string
  stderr: string
  outcome: ShellOutcome
}

/** The answer: one output for each command. */
export interface ShellOutput {
  output: ShellCommandOutput[]
  /** The value of the request. */
  maxOutputLength?: number
}

/** The exit code of a command that was not run. */
const NOT_RUN = 126
/** The exit code of a command that was stopped. */
const STOPPED = 137

/** Runs the commands of an action. It never throws. */
export type ShellFunction = (input: { action: ShellAction }, options?: ToolCallOptions) => Promise<ShellOutput>

export function createShell(settings: ProviderSettings): ShellFunction {
  return describedExecutor('shell', async (input, options) => {
    /** The commands that have ended. */
    const output: ShellCommandOutput[] = []
    const execute = ({ action }: { action: ShellAction }, call: BuiltInContext): Promise<ShellOutput> =>
      runCommands(action, output, call, settings)
    try {
      return await recordedFunction({ name: 'shell', sideEffect: true, kind: 'bash', execute }, settings.bound)(input, options)
    } catch (error) {
      return failedShell(input, output, error)
    }
  })
}

async function runCommands(
  action: ShellAction,
  output: ShellCommandOutput[],
  call: BuiltInContext,
  settings: ProviderSettings,
): Promise<ShellOutput> {
  const { commands, timeoutMs: asked, maxOutputLength } = checkedAction(action)
  // Nothing runs unless all commands are valid.
  const limit = outputLimit(maxOutputLength)
  const timeoutMs = timeoutOf(asked, call.settings, settings.maxTimeoutMs)
  const lines = commands.map((command, index) => commandLine(command, `commands[${index}]`))
  for (const [index, line] of lines.entries()) {
    const before = lines[index - 1]
    output.push(await runCommand(line, { timeoutMs, asked: asked ?? undefined, limit, before }, call, settings))
    call.partialOutput = { output: { output } }
  }
  return { output, ...(limit !== undefined && { maxOutputLength: limit }) }
}

async function runCommand(
  line: string,
  {
    timeoutMs,
    asked,
    limit,
    before,
  }: { timeoutMs: number; asked: number | undefined; limit: number | undefined; before: string | undefined },
  call: BuiltInContext,
  { bound }: ProviderSettings,
): Promise<ShellCommandOutput> {
  try {
    const { cmd, args } = shellFor(line, call)
    const ended = await captureCommand({ cmd, args, judged: ['-c', line], cwd: '.', timeoutMs }, call, bound)
    const stderr = stderrWithNotes(ended.stderr, [apart(line, before, exitCodeOf(ended)), ...captureNotes(ended, asked)])
    const outcome: ShellOutcome = ended.timedOut ? { type: 'timeout' } : { type: 'exit', exitCode: exitCodeOf(ended) }
    return { ...limitTogether(ended.stdout, stderr, Math.min(limit ?? Infinity, call.settings.maxOutputBytes)), outcome }
  } catch (error) {
    // A refusal ends its own command only. After an abort, or if nothing can run, the remaining commands would end in the same way.
    if (!ToolError.isInstance(error) || call.signal?.aborted === true) throw error
    const stderr = failureText(error)
    return { ...limitTogether('', stderr, limit ?? stderr.length), outcome: { type: 'exit', exitCode: NOT_RUN } }
  }
}

/** Of an option that was given as a command line of its own. */
function apart(line: string, before: string | undefined, exitCode: number): string | undefined {
  if (exitCode !== 127 || before === undefined || !/^-\S/u.test(line)) return undefined
  return `Each of the commands is one command line: "${before} ${line}" is one.`
}

function checkedAction(action: unknown): ShellAction {
  if (typeof action !== 'object' || action === null) throw invalid('action must be an object.')
  const { commands } = action as Partial<ShellAction>
  if (!Array.isArray(commands)) throw invalid('action.commands must be an array of command lines.')
  return action as ShellAction
}

/** The output of a failed call: one for each command that has none yet. */
function failedShell(input: unknown, output: readonly ShellCommandOutput[], error: unknown): ShellOutput {
  const action = (input as { action?: Partial<ShellAction> } | null | undefined)?.action
  const { commands, maxOutputLength: limit } = action ?? {}
  const count = Array.isArray(commands) ? Math.max(1, commands.length) : 1
  const isLimited = typeof limit === 'number' && limit >= 0
  const stderr = failureText(error)
  const outcome: ShellOutcome = { type: 'exit', exitCode: ToolError.isInstance(error) ? NOT_RUN : STOPPED }
  const failed = { stdout: '', stderr: isLimited ? shortened(stderr, limit) : stderr, outcome }
  return {
    output: [...output, ...Array.from({ length: count - output.length }, () => failed)],
    ...(isLimited && { maxOutputLength: limit }),
  }
}
