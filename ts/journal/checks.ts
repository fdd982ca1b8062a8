import {
  abortSignal,
  boolean,
  type Check,
  type Checks,
  checkText,
  invalid,
  optional,
  positive,
  text,
  wholeNumber,
} from '../core/options.js'
import type { JournalStore, NewToolCall, TaskId, ToolCallEnd, ToolCallRef } from './journal-store.js'
import type { Journal, TailOptions } from './journal.js'

/** A whole number from `min`. @throws {ToolError} INVALID_INPUT */
export function checkCount(name: string, value: unknown, min = 0): void {
  if (!Number.isSafeInteger(value) || Number(value) < min) throw invalid(`${name} must be a whole number from ${min}.`)
}

/** @throws {ToolError} INVALID_INPUT for what names no task. */
export function checkTaskId(task: unknown): void {
  if (typeof task !== 'object' || task === null) throw invalid('The task must be an object with runId and nodeId.')
  const { runId, nodeId, iteration } = task as TaskId
  checkIds(runId, nodeId, iteration)
}

/** @throws {ToolError} INVALID_INPUT for ids of a task that are none. */
export function checkIds(runId: unknown, nodeId: unknown, iteration: unknown = 0): void {
  checkText('runId', runId)
  checkText('nodeId', nodeId)
  checkCount('iteration', iteration)
}

/** @throws {ToolError} INVALID_INPUT for what is no call. */
export function checkNewCall(call: NewToolCall): void {
  checkRef(call)
  checkText('toolName', call.toolName)
  checkTypes(call, 'string', ['inputJson', 'idempotencyKey', 'callToken', 'argsHash'])
  checkTypes(call, 'boolean', ['sideEffect', 'idempotent', 'acceptsIdempotencyKey', 'hasRevert'])
  checkTypes(call, 'number', ['ordinal'])
  checkEnd(call, 'started')
}

/** @throws {ToolError} INVALID_INPUT for what identifies no call. */
export function checkRef(call: Omit<ToolCallRef, 'iteration' | 'row'> & { iteration?: unknown; row?: unknown }): void {
  if (typeof call !== 'object' || call === null) throw invalid('The call must be an object.')
  const { runId, nodeId, iteration, attempt, seq, row } = call
  checkIds(runId, nodeId, iteration)
  checkCount('attempt', attempt)
  checkCount('seq', seq)
  if (row !== undefined) checkCount('row', row)
  checkTypes(call, 'number', ['startedAtMs'])
}

/** @throws {ToolError} INVALID_INPUT for what is no end of a call. */
export function checkEnd(end: Partial<Omit<ToolCallEnd, 'status'>> & { status?: unknown }, initial?: string): void {
  if (typeof end !== 'object' || end === null) throw invalid('The end of a call must be an object with a status.')
  const { status = initial } = end
  const known = [...(initial === undefined ? [] : [initial]), 'success', 'error', 'unknown']
  if (!known.includes(status as string)) throw invalid(`status must be one of ${known.join(', ')}.`)
  checkTypes(end, 'string', ['outputJson', 'outputText', 'errorJson'])
  checkTypes(end, 'number', ['finishedAtMs'])
  checkTypes(end, 'boolean', ['acted', 'whole'])
}

const after: Check<number | 'end'> = (value, name) => (value === 'end' ? value : wholeNumber(0)(value, name))

export const tailChecks = {
  runId: optional(text),
  after: optional(after, 0),
  follow: optional(boolean, true),
  signal: abortSignal,
  pollMs: optional(positive(), 100),
} satisfies Checks<TailOptions>

function checkTypes(holder: object, type: 'string' | 'number' | 'boolean', names: readonly string[]): void {
  for (const name of names) {
    const value = (holder as Record<string, unknown>)[name]
    // oxlint-disable-next-line valid-typeof -- the type is one of three words
    if (value !== undefined && value !== null && typeof value !== type) throw invalid(`${name} must be a ${type}.`)
  }
}

/** Whether a value can record calls, judged by its methods. */
export function isStore(value: unknown): value is JournalStore {
  return typeof value === 'object' && value !== null && typeof (value as JournalStore).insertToolCall === 'function'
}

/** @throws {ToolError} INVALID_INPUT for what `openJournal` did not give. */
export function checkJournal(journal: unknown): void {
  if (!isStore(journal) || typeof (journal as Journal).tail !== 'function') {
    throw invalid('journal must be what openJournal gave.')
  }
}
