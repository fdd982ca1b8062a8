/** Rows of the table, and the values of new ones. */
import { steadyNow } from '../core/clock.js'
import { invalid } from '../core/options.js'
import { isWellFormed } from '../core/text.js'
import type { ClaimedCall, NewToolCall, TaskId, ToolCallEnd, ToolCallRow, ToolCallStatus } from '../journal/journal-store.js'
import type { SqlRow } from './client.js'

/** Cuts a JSON text to a limit: the addon's. */
export type Fit = (json: string, limitBytes: number) => { json: string; bytes: number }

/** A truth value, which some clients leave as its text. */
export const isTrue = (value: unknown): boolean => value === true || value === 't'

const numberOr = (value: unknown): number | null => (value === null || value === undefined ? null : Number(value))
const textOr = (value: unknown): string | null => (value === null || value === undefined ? null : String(value))
const flagOr = (value: unknown): boolean | null => (value === null || value === undefined ? null : Number(value) !== 0)

const STATUSES: Readonly<Record<string, ToolCallStatus>> = {
  started: 'started',
  intended: 'started',
  success: 'success',
  succeeded: 'success',
  error: 'error',
}

/** A row that `selectList` selects. */
export function callRow(row: SqlRow): ToolCallRow {
  const statusText = String(row['status'])
  return {
    row: Number(row['tw_row']),
    runId: String(row['run_id']),
    nodeId: String(row['node_id']),
    iteration: Number(row['iteration']),
    attempt: Number(row['attempt']),
    seq: Number(row['seq']),
    callToken: textOr(row['call_token']),
    toolName: String(row['tool_name']),
    inputJson: textOr(row['input_json']),
    outputJson: textOr(row['output_json']),
    startedAtMs: Number(row['started_at_ms']),
    finishedAtMs: numberOr(row['finished_at_ms']),
    status: STATUSES[statusText] ?? 'unknown',
    statusText,
    errorJson: textOr(row['error_json']),
    kind: textOr(row['kind']),
    sideEffect: flagOr(row['side_effect']),
    idempotent: flagOr(row['idempotent']),
    acceptsIdempotencyKey: flagOr(row['accepts_idempotency_key']),
    hasRevert: flagOr(row['has_revert']),
    idempotencyKey: textOr(row['idempotency_key']),
    revertStatus: textOr(row['revert_status']),
    revertedAtMs: numberOr(row['reverted_at_ms']),
    revertErrorJson: textOr(row['revert_error_json']),
    forcedPastJson: textOr(row['forced_past_json']),
    argsHash: textOr(row['tw_args_hash']),
    ordinal: numberOr(row['tw_ordinal']),
    outputBytes: numberOr(row['tw_output_bytes']),
    isCut: flagOr(row['is_cut']) === true,
    acted: flagOr(row['tw_acted']) !== false,
    seen: textOr(row['tw_seen']),
  }
}

type Columns = Record<string, string | number | null>

/** The values of a call that begins, or is over, by column. */
export function begunColumns(call: NewToolCall | (ClaimedCall & { seq: number; keyRead?: undefined }), end: Columns | undefined): Columns {
  const { sideEffect = false } = call
  const flag = (value: boolean): number => (value ? 1 : 0)
  return {
    ...checkedTask(call),
    attempt: call.attempt,
    seq: call.seq,
    call_token: storable(call.callToken),
    tool_name: storable(call.toolName),
    input_json: storable(call.inputJson),
    started_at_ms: call.startedAtMs ?? steadyNow(),
    side_effect: flag(sideEffect),
    idempotent: flag(call.idempotent ?? !sideEffect),
    accepts_idempotency_key: flag(call.acceptsIdempotencyKey === true || call.keyRead === true),
    has_revert: flag(call.hasRevert ?? false),
    idempotency_key: storable(call.idempotencyKey),
    tw_args_hash: call.argsHash ?? null,
    tw_ordinal: call.ordinal ?? null,
    ...(end ?? {
      output_json: null,
      error_json: null,
      finished_at_ms: null,
      status: 'started',
      tw_output_bytes: null,
      tw_acted: null,
      tw_seen: null,
    }),
  }
}

/** The values of an outcome, cut to the limit. */
export function endColumns(end: ToolCallEnd, limitBytes: number, fit: Fit): Columns {
  const { status, acted = true, whole = false } = end
  const fitted = (json: string | null | undefined): { json: string | null; bytes: number | null } => {
    const text = storable(json)
    if (text === null) return { json: null, bytes: null }
    const bytes = Buffer.byteLength(text)
    return whole || bytes <= limitBytes ? { json: text, bytes } : fit(text, limitBytes)
  }
  const outputJson = end.outputText === undefined ? end.outputJson : JSON.stringify(end.outputText)
  const output = status === 'success' ? fitted(outputJson) : { json: null, bytes: null }
  const error = status === 'success' ? null : fitted(end.errorJson).json
  return {
    status,
    output_json: output.json,
    error_json: error,
    finished_at_ms: end.finishedAtMs ?? steadyNow(),
    tw_output_bytes: output.bytes,
    tw_acted: status === 'error' && !acted ? 0 : null,
    tw_seen: storable(end.seen),
    key_read: end.keyRead === true ? 1 : null,
  }
}

/** The columns of a task. PostgreSQL keeps no U+0000, and no half of a surrogate pair: two ids must not become one. */
export function checkedTask({ runId, nodeId, iteration = 0 }: Omit<TaskId, 'iteration'> & { iteration?: number | undefined }): {
  run_id: string
  node_id: string
  iteration: number
} {
  return { run_id: checkedId(runId, 'runId'), node_id: checkedId(nodeId, 'nodeId'), iteration }
}

export function checkedId(id: string, name: string): string {
  const text = String(id)
  if (!isWellFormed(text)) throw invalid(`${name} must be a well-formed string.`)
  if (text.includes('\0')) throw invalid(`${name} must not contain U+0000.`)
  return text
}

/** A text as the server can keep it. JSON has no such characters; names that a model has made up may. */
function storable(text: string | null | undefined): string | null {
  if (text === null || text === undefined) return null
  const wellFormed = isWellFormed(text) ? text : text.replaceAll(/\p{Surrogate}/gu, '\u{FFFD}')
  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', '\u{FFFD}') : wellFormed
}
