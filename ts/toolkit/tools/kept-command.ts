/** A command that continues as a process at its timeout: `createTools({ processes: true, onTimeout: 'background' })`. */
import type { FinishedCommand } from '../../../index.js'
import { ToolError } from '../../core/errors.js'
import { type KeepOptions, nativeOptions } from '../../core/kept-process.js'
import { call as callAddon, isUnfinished } from '../../core/native.js'
import { OUTPUT_FILE_BYTES } from '../../core/processes/process-table.js'
import { goesOnNote } from '../../core/processes/process-texts.js'
import { shellWord } from '../../core/text.js'
import { getToolContext } from '../../journal/calls/context.js'
import { processRecorder } from '../../journal/calls/process-record.js'
import type { BuiltInContext } from '../define-tool.js'
import type { BoundToolOptions } from '../settings.js'
import type { CommandPlan } from './call-plan.js'
import type { ToolProcesses } from './tool-processes.js'

const keep: KeepOptions = { input: 'empty', fileBytes: OUTPUT_FILE_BYTES }

/**
 * Runs a command with the results and errors of any other. At its timeout it continues as a process, which a note after the
 * output names.
 *
 * @throws {ToolError} PROCESS_TIMEOUT if no more processes may run.
 */
export async function runKept(
  { settings, command, limits }: CommandPlan,
  { signal, settings: { timeoutMs } }: Pick<BuiltInContext, 'signal' | 'settings'>,
  bound: BoundToolOptions,
  { table }: ToolProcesses,
): Promise<FinishedCommand> {
  const { process, ...finished } = await callAddon(limits, async (addon, cancel) => {
    const ran = await addon.bash(settings(addon), command, cancel, undefined, nativeOptions(keep))
    // Nothing else would end the process after an abort.
    if (signal?.aborted === true && !isUnfinished(ran)) ran.process?.kill()
    return ran
  })
  if (process === undefined) return finished
  const line = [command.cmd, ...command.args].map(shellWord).join(' ')
  try {
    const entry = await table.take(process, { command: line, keep, lifetime: signal, record: processRecorder(getToolContext(), bound) })
    return {
      leftRunning: 0,
      notes: finished.notes,
      connections: [],
      denials: [],
      masked: finished.masked,
      output: withNote(finished.output, goesOnNote(entry.id, timeoutMs, true)),
    }
  } catch (cause) {
    signal?.throwIfAborted()
    const summary = `Command timed out after ${timeoutMs}ms`
    const why = ToolError.isInstance(cause) ? `${cause.summary}. ${cause.hint}` : ''
    const message = `${summary}: \`${command.cmd}\` [PROCESS_TIMEOUT] It could not go on: ${why}\nOutput until then:\n${finished.output}`
    throw new ToolError({ code: 'PROCESS_TIMEOUT', summary, message, hint: why, details: { timeoutMs, output: finished.output }, cause })
  }
}

const withNote = (output: string, note: string): string => `${output}${output === '' || output.endsWith('\n') ? '' : '\n'}[${note}]`
