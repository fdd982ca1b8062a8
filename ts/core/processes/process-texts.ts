/** Texts about processes for a model. */
import type { KeptProcessEnd } from '../../../index.js'
import type { ProcessReport, ProcessWriteArguments } from './process-report.js'
import { ToolError } from '../errors.js'
import { beginningOf } from '../text.js'

const MAX_SHOWN = 200

/** A process by its id and the beginning of its command line. */
export function processName(id: string, command: string): string {
  const [line = ''] = command.trim().split('\n')
  return `${id} (\`${line.length > MAX_SHOWN || line !== command.trim() ? `${beginningOf(line, MAX_SHOWN)}…` : line}\`)`
}

/** How a process ended, as the last part of a sentence. */
export function howItEnded({ exitCode, signal }: Pick<KeptProcessEnd, 'exitCode' | 'signal'>): string {
  if (signal !== undefined) return `was ended by ${signal}`
  return exitCode === undefined ? 'has ended in an unknown way' : `has ended with exit code ${exitCode}`
}

/** A note about programs that a process left behind. */
export function leftBehindNote({ leftRunning }: Pick<KeptProcessEnd, 'leftRunning'>): string | undefined {
  if (leftRunning === 0) return undefined
  const what = leftRunning === 1 ? '1 program that it had started was stopped' : `${leftRunning} programs that it had started were stopped`
  return `${what}: a process ends when its command line ends. Start long-running programs without \`&\`.`
}

/**
 * A note about a command that continues after its timeout.
 *
 * @param canRead whether the model has the process tools.
 */
export function goesOnNote(id: string, timeoutMs: number, canRead: boolean): string {
  const what = `The command still runs after ${timeoutMs} ms, and continues as process ${id}`
  return canRead
    ? `${what}: read its output with process_read, and end it with process_stop.`
    : `${what}, until it ends or its session does.`
}

/** A line break, or a key such as Ctrl-C. */
const LINE_END = /\p{Cc}$/u

/**
 * The report of a write, and that a line is not ended: a program that reads lines waits on.
 *
 * @param how how a line is ended here.
 */
export function withUnsentLine(
  { text, keys = [], close_input: closes }: Pick<ProcessWriteArguments, 'text' | 'keys' | 'close_input'>,
  report: ProcessReport,
  how = 'press it with keys ["enter"]',
): ProcessReport {
  const isUnsent = text !== undefined && text !== '' && !LINE_END.test(text) && keys.length === 0 && closes !== true
  if (!isUnsent || report.waits_for_input !== true) return report
  return {
    ...report,
    notes: [...(report.notes ?? []), `The line is not ended, and the program still waits: ${how}, or end the text with a line break.`],
  }
}

const MAX_LISTED = 10

export function notFound(id: string, running: readonly string[]): ToolError {
  const shown = running.slice(0, MAX_LISTED).join(', ')
  const there = running.length === 0 ? 'No process runs.' : `The processes are: ${shown}${running.length > MAX_LISTED ? ' and more' : ''}.`
  return new ToolError({
    code: 'PROCESS_NOT_FOUND',
    summary: 'No process has this id',
    place: `No process has the id ${JSON.stringify(beginningOf(id, 100))}`,
    hint: `${there} Start one with process_start.`,
    details: { processId: id },
  })
}

export function ofEarlierOwner(id: string): ToolError {
  return new ToolError({
    code: 'PROCESS_NOT_FOUND',
    summary: 'The process has ended with the program that ran it',
    place: `The process ${id} has ended: the program that ran it was ended and opened this session again`,
    hint: 'Start it again with process_start if it is still needed.',
    details: { processId: id },
  })
}

export function hasEnded(id: string, command: string, end: KeptProcessEnd): ToolError {
  return new ToolError({
    code: 'PROCESS_ENDED',
    summary: 'The process has ended',
    place: `The process ${processName(id, command)} ${howItEnded(end)}, and takes no input`,
    hint: 'Read its last output with process_read, or start it again with process_start.',
    details: { processId: id, exitCode: end.exitCode ?? null, signal: end.signal ?? null },
  })
}

export function alreadyDetached(id: string, command: string): ToolError {
  return new ToolError({
    code: 'PROCESS_ENDED',
    summary: 'The process has ended, or belongs to another owner',
    place: `The process ${processName(id, command)} has ended, or belongs to another owner already`,
    hint: 'Look at detachedProcesses(), and resume it by the name of its owner.',
    details: { processId: id },
  })
}

export function inputClosed(id: string, command: string): ToolError {
  return new ToolError({
    code: 'PROCESS_ENDED',
    summary: 'The input of the process is closed',
    place: `The input of the process ${processName(id, command)} is closed`,
    hint: 'Read its output with process_read; to give it more input, start it again.',
    details: { processId: id },
  })
}

export function nothingToWrite(id: string): ToolError {
  return new ToolError({
    code: 'INVALID_INPUT',
    summary: 'There is nothing to write',
    place: `There is nothing to write to ${id}`,
    hint: 'Give `text`, `keys` or `close_input`; to read its output, use process_read.',
    details: { processId: id },
  })
}

/** Of a part of the output that is not there yet. */
export const beyondOutput = (from: number, bytes: number): string =>
  `There is nothing from ${from} on: the process has written ${bytes} bytes so far. Leave \`from\` out for what is new.`

export function inputWaits(id: string, command: string): ToolError {
  return new ToolError({
    code: 'PROCESS_BUSY',
    summary: 'The process has not taken its earlier input yet',
    place: `The process ${processName(id, command)} has not taken its earlier input yet`,
    hint: 'Nothing was written. Read its output with process_read, and write again when it reads; or stop it.',
    details: { processId: id },
  })
}

export function tooMany(limit: number, running: readonly string[]): ToolError {
  const shown = running.slice(0, MAX_LISTED).join(', ')
  return new ToolError({
    code: 'PROCESS_LIMIT',
    summary: limit === 1 ? '1 process runs already' : `${limit} processes run already`,
    hint: `Stop one that is no longer needed with process_stop${shown === '' ? '' : `: ${shown}${running.length > MAX_LISTED ? ' and more' : ''}`}. The host can allow more.`,
    details: { limit },
  })
}

export function tableClosed(): ToolError {
  return new ToolError({
    code: 'PROCESS_LIMIT',
    summary: 'No more processes can be started: their owner has been closed',
    hint: 'Work without long-running processes, and say so.',
  })
}
