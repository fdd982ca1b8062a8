import {
  abortSignal,
  boolean,
  type Check,
  type Checks,
  invalid,
  must,
  oneOf,
  optional,
  positive,
  text,
  wholeNumber,
} from '../core/options.js'
import type { Checkpoints } from './checkpoints/checkpoints.js'
import type { ClaimedCall, JournalStore, NewToolCall, TaskId, ToolCallEnd, ToolCallRef } from './journal-store.js'
import type { Journal, TailOptions } from './journal.js'

const count = wholeNumber(0)
const string = ofType('string')
const number = ofType('number')
const flag = ofType('boolean')

const taskChecks = { runId: text, nodeId: text, iteration: optional(count, 0) } satisfies Checks<TaskId>

const refChecks = { ...taskChecks, attempt: count, seq: count, row: optional(count), startedAtMs: number } satisfies Checks<ToolCallRef>

const endChecks = {
  status: oneOf('success', 'error', 'unknown'),
  outputJson: string,
  outputText: string,
  errorJson: string,
  finishedAtMs: number,
  acted: flag,
  whole: flag,
  seen: string,
  keyRead: flag,
} satisfies Checks<ToolCallEnd>

const callChecks = {
  ...refChecks,
  ...endChecks,
  status: optional(oneOf('started', 'success', 'error', 'unknown')),
  toolName: text,
  inputJson: string,
  idempotencyKey: string,
  callToken: string,
  argsHash: string,
  sideEffect: flag,
  idempotent: flag,
  acceptsIdempotencyKey: flag,
  hasRevert: flag,
  ordinal: number,
} satisfies Checks<NewToolCall>

const { seq: _seq, status: _status, ...claimedFields } = callChecks
const claimedChecks = { ...claimedFields, callId: text } satisfies Partial<Checks<ClaimedCall>>

function ofType(type: 'string' | 'number' | 'boolean'): Check<never> {
  return must((value) => value === undefined || value === null || typeof value === type, `a ${type}`)
}

/** An object with these fields, and perhaps others. */
function fields<T>(checks: Checks<T>, problem: string): Check<T> {
  const entries = Object.entries<Check<unknown>>(checks)
  return (value) => {
    if (typeof value !== 'object' || value === null) throw invalid(problem)
    for (const [name, check] of entries) check((value as Record<string, unknown>)[name], name)
    return value as T
  }
}

const rowNumbers: Check<readonly number[]> = (value) => {
  if (!Array.isArray(value)) throw invalid('The numbers of rows must be an array.')
  return value.map((row) => count(row, 'The number of a row'))
}

/** The checks of a journal's arguments, by their names. */
export const argumentChecks = {
  call: fields(callChecks, 'The call must be an object.'),
  claimed: fields(claimedChecks, 'The call must be an object.'),
  ref: fields(refChecks, 'The call must be an object.'),
  end: fields(endChecks, 'The end of a call must be an object with a status.'),
  task: fields(taskChecks, 'The task must be an object with runId and nodeId.'),
  ...taskChecks,
  toolName: text,
  argsHash: text,
  errorJson: optional(text),
  numbers: rowNumbers,
  attempt: count,
  wanted: optional(wholeNumber(1)),
  cursor: optional(string),
  ordinal: count,
  row: count,
  after: count,
  limit: count,
} satisfies Record<string, Check<unknown>>

const after: Check<number | 'end'> = (value, name) => (value === 'end' ? value : wholeNumber(0)(value, name))

export const tailChecks = {
  runId: optional(text),
  after: optional(after, 0),
  follow: optional(boolean, true),
  signal: abortSignal,
  pollMs: optional(positive(), 100),
} satisfies Checks<TailOptions>

/** Whether a value can record calls, judged by its methods. */
export function isStore(value: unknown): value is JournalStore {
  return typeof value === 'object' && value !== null && typeof (value as JournalStore).insertToolCall === 'function'
}

/** @throws {ToolError} INVALID_INPUT for what `openJournal` did not give. */
export function checkJournal(journal: unknown): Journal {
  if (isStore(journal) && typeof (journal as Journal).tail === 'function') return journal as Journal
  throw invalid('journal must be what openJournal gave.')
}

/** An option that is what `openCheckpoints` gave, or something of the same shape. */
export const checkCheckpoints: Check<Checkpoints> = must<Checkpoints>(isCheckpoints, 'what openCheckpoints gave')

function isCheckpoints(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { track, beginTurn, undo } = value as Partial<Record<keyof Checkpoints, unknown>>
  return [track, beginTurn, undo].every((method) => typeof method === 'function')
}
