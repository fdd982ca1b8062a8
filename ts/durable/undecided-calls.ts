/** The errors of calls that nobody can decide by themselves, and the time after which one is given up. */
import { ToolError } from '../core/errors.js'
import { parseObject } from '../core/parse-rows.js'
import type { TaskId, ToolCallRow } from '../journal/journal-store.js'

/** The longest delay of a timer. */
const MAX_TIMER_MS = 2_147_483_647
const MAX_SHOWN = 2_000

const time = (ms: number): string => new Date(ms).toISOString()

/** @param row a call without a known outcome */
export function outcomeUnknown({ runId, nodeId, toolName, startedAtMs, errorJson }: ToolCallRow, callId: string): ToolError {
  const summary = 'It is not known whether this call was made'
  const { message, code } = parseObject(errorJson) ?? {}
  const isOver = code === 'PROCESS_DIED' || typeof message !== 'string'
  const why = isOver ? 'in a process that has ended since' : `and nobody knows what it did: ${message.slice(0, MAX_SHOWN)}`
  return new ToolError({
    code: 'OUTCOME_UNKNOWN',
    summary,
    place: `${summary}: ${toolName} began at ${time(startedAtMs)} ${why}`,
    hint: 'It was not made again. Look at what it should have changed before you make a new call.',
    details: { runId, nodeId, toolName, callId, startedAtMs },
  })
}

/** A call that runs for too long. */
export function neverEnded(toolName: string, startedAtMs: number, staleAfterMs: number): ToolError {
  const summary = 'The call has not ended in time'
  return new ToolError({
    code: 'OUTCOME_UNKNOWN',
    summary,
    place: `${summary}: ${toolName} began at ${time(startedAtMs)}, and had ${staleAfterMs} ms (staleAfterMs)`,
    hint: 'It is not known what it has done. Look at what it should have changed before you make a new call.',
    details: { toolName, startedAtMs, staleAfterMs },
  })
}

/** An equal call of an execution of which the engine knows nothing. */
export function madeBefore(row: ToolCallRow): ToolError {
  const { runId, nodeId, toolName, attempt, seq, startedAtMs, status, outputJson, errorJson } = row
  const summary = 'A call with the same arguments was already made in this run'
  const shown = (status === 'success' ? outputJson : errorJson)?.slice(0, MAX_SHOWN)
  const end =
    status === 'success' ? `its result was ${shown ?? 'nothing'}` : `its outcome is ${status}${shown === undefined ? '' : ` (${shown})`}`
  return new ToolError({
    code: 'REPLAY_UNSAFE',
    summary,
    place: `${summary}: ${toolName} at ${time(startedAtMs)}, before the run began again; ${end}`,
    hint: 'Nothing was done now. Go on with that result; make the call once more only if it is meant twice.',
    details: { runId, nodeId, toolName, attempt, seq, startedAtMs },
  })
}

/** A call that was made, whose row does not hold its output. */
export function incomplete(row: ToolCallRow, callId: string, task: TaskId): ToolError {
  const { toolName, attempt, seq, isCut, outputBytes, outputJson } = row
  const { left_out: leftOut } = parseObject(outputJson) ?? {}
  const reason = typeof leftOut === 'string' ? withinSentence(leftOut) : 'it has no form that a row can hold'
  const why = isCut ? `${outputBytes} bytes are more than the journal keeps (maxOutputBytes)` : reason
  return withoutOutput('The recorded output is not complete', `${toolName}, \`${callId}\`; ${why}`, { ...task, toolName, attempt, seq })
}

/** A call that was made, whose output throws when it is read. With that error the call would look as if it had failed. */
export function unreadable(toolName: string, callId: string, task: TaskId, cause: unknown): ToolError {
  const why = `it cannot be read: ${String((cause as Error | undefined)?.message ?? cause).slice(0, MAX_SHOWN)}`
  return withoutOutput('The output is not complete', `${toolName}, \`${callId}\`; ${why}`, { ...task, toolName }, cause)
}

function withoutOutput(summary: string, place: string, details: Record<string, unknown>, cause?: unknown): ToolError {
  return new ToolError({
    code: 'REPLAY_INCOMPLETE',
    summary,
    place: `${summary}: ${place}`,
    hint: 'The call was made and must not be repeated. Look at what it changed, and go on from there.',
    details,
    ...(cause !== undefined && { cause }),
  })
}

/** What a row says of an output that it lacks, as a part of a sentence. */
const withinSentence = (sentence: string): string => sentence.slice(0, 1).toLowerCase() + sentence.slice(1).replace(/\.$/u, '')

/** Calls `late` after a time that may be longer than a timer takes. It keeps no process alive. */
export function timer(afterMs: number, late: () => void): { cancel(): void } {
  if (afterMs > MAX_TIMER_MS) return { cancel: () => undefined }
  const timeout = setTimeout(late, afterMs).unref()
  return { cancel: () => clearTimeout(timeout) }
}
