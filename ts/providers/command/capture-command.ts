/** Runs a command to its end: separate streams, and how it ended. */
import type { CommandOutput } from '../../../index.js'
import { traceStep } from '../../core/call-channel.js'
import { type CommandMessage, programName } from '../../core/call-message.js'
import { CommandPatches } from '../../core/command-patches.js'
import { call as callAddon } from '../../core/native.js'
import { leftRunningNote, shortTimeNote } from '../../core/text.js'
import { callPlan, type CallSettings, commandOf, commandSettings, guardCommand, HANG_GRACE_MS } from '../../toolkit/tools/call-plan.js'
import { BASH_TOOL_MAX_OUTPUT_BYTES, checkBashLimits, type ToolOptions } from '../../toolkit/settings.js'

/** The command to run. */
export interface CapturedInput {
  cmd: string
  args: readonly string[]
  cwd: string
  /** The arguments that the network guard judges, if they differ. @default args */
  judged?: readonly string[] | undefined
  /** The line of the model, where the arguments are a script around it that keeps the state of its shell. */
  line?: string | undefined
  /** The timeout, in milliseconds. */
  timeoutMs: number
  /** The most bytes of each stream. @default the limit of the settings */
  streamBytes?: number | undefined
  /** Variables besides those of the settings. */
  variables?: Readonly<Record<string, string>> | undefined
}

/** @throws {ToolError} as `bash` does, except for an exit code, a signal and a timeout, which are results. */
export async function captureCommand(
  { cmd, args, cwd, judged = args, line, timeoutMs, streamBytes, variables }: CapturedInput,
  call: CallSettings,
  bound: ToolOptions,
): Promise<CommandOutput> {
  const plan = callPlan(call)
  checkBashLimits({ ...plan, timeoutMs })
  const guarded = guardCommand(plan, cmd, judged, cwd)
  const command = commandOf({ cmd, args: judged === args ? guarded.args : args, cwd }, guarded.env)
  const settings = commandSettings(plan, bound)
  const maxBytes = Math.min(plan.maxOutputBytes, BASH_TOOL_MAX_OUTPUT_BYTES)
  const terms = {
    timeoutMs,
    streamBytes: Math.min(streamBytes ?? maxBytes, maxBytes),
    isScreen: true,
    ...(variables && { variables: { ...variables } }),
    ...(line !== undefined && { line }),
  }
  const patches = new CommandPatches()
  return traceStep(
    'command',
    { program: programName(cmd) },
    () =>
      callAddon(plan.changeLimits(`${programName(cmd)}`, timeoutMs + HANG_GRACE_MS), (addon, cancel) =>
        addon.runCaptured(settings(addon), command, terms, cancel, patches.of(addon, [command.cmd, ...command.args])),
      ),
    noteEnd,
  ).finally(() => void (call.patches = [...(call.patches ?? []), ...patches.take()]))
}

function noteEnd(message: CommandMessage, ended: CommandOutput | undefined): void {
  if (ended === undefined) return
  const exitCode = ended.exitCode ?? null
  message.exitCode = exitCode
  if (ended.timedOut) message.timedOut = true
  message.call?.commandEnded(exitCode)
}

/** The exit code as a shell reports it: 128 plus the number of the signal; 124 for a timeout, as from `timeout`. */
export function exitCodeOf({ exitCode, signalNumber, timedOut }: CommandOutput): number {
  if (timedOut) return 124
  return exitCode ?? 128 + (signalNumber ?? 0)
}

/** stderr, followed by notes for the model. */
export function stderrWithNotes(stderr: string, notes: readonly (string | undefined)[]): string {
  const known = notes.filter((note) => note !== undefined).map((note) => `[${note}]`)
  if (known.length === 0) return stderr
  return `${stderr}${stderr === '' || stderr.endsWith('\n') ? '' : '\n'}${known.join('\n')}\n`
}

/** Notes about a command for the model. `askedMs` is the time that the model has set. */
export function captureNotes({ hint, leftRunning, signal, timedOut }: CommandOutput, askedMs?: number): (string | undefined)[] {
  const short = timedOut && askedMs !== undefined ? shortTimeNote(askedMs, 'the timeout') : undefined
  return [signal === undefined ? undefined : `The command was killed by ${signal}.`, short, hint, leftRunningNote(leftRunning)]
}
