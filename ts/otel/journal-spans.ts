/** The calls of a journal as spans in OTLP's JSON. Ids are derived from the records, so a second export has the same ids. */
import { hash } from 'node:crypto'
import type { RunSummary, ToolCallRow } from '../journal/journal-store.js'
import { durationOf, exitOf, outputBytesOf } from '../report/call-fields.js'
import { waitedMs } from '../report/call-texts.js'
import { attributeText, type Attributes, type AttributeValue, identity, INPUT, known, OUTPUT, toolSpanName } from './attributes.js'

/** A span as OTLP writes it in JSON: ids in hexadecimal, times in nanoseconds as text. */
export interface OtlpSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: object }[]
  status: { code?: number; message?: string }
}

/** What spans have besides the outcome of calls. */
export interface Contents {
  inputs: boolean
  outputs: boolean
}

/** `SPAN_KIND_INTERNAL` and `STATUS_CODE_ERROR` of OTLP. */
const INTERNAL = 1
const ERROR = 2

const TRACE_ID = 32
const SPAN_ID = 16

/** The trace id of a run. Its start distinguishes runs of the same name in different journals. */
const idOf = (length: number, ...parts: (string | number)[]): string => hash('sha256', JSON.stringify(parts)).slice(0, length)

const traceIdOf = ({ runId, startedAtMs }: RunSummary): string => idOf(TRACE_ID, 'toolwright', runId, startedAtMs)
const runSpanId = (run: RunSummary): string => idOf(SPAN_ID, 'run', run.runId, run.startedAtMs)

const nanoseconds = (ms: number): string => `${Math.trunc(ms)}000000`

/** The span of a run, the parent of its calls' spans. */
export function runSpan(run: RunSummary): OtlpSpan {
  const { runId, startedAtMs, finishedAtMs, calls, failed } = run
  return {
    traceId: traceIdOf(run),
    spanId: runSpanId(run),
    name: `run ${runId}`,
    kind: INTERNAL,
    startTimeUnixNano: nanoseconds(startedAtMs),
    endTimeUnixNano: nanoseconds(Math.max(startedAtMs, finishedAtMs ?? 0)),
    attributes: otlpAttributes({ 'toolwright.run_id': runId, 'toolwright.calls': calls, 'toolwright.failed_calls': failed }),
    status: {},
  }
}

/** The span of a call that has ended; `undefined` while it runs. */
export function callSpan(run: RunSummary, row: ToolCallRow, contents: Contents): OtlpSpan | undefined {
  if (row.status === 'started') return undefined
  const { toolName, startedAtMs, kind } = row
  const code = row.status === 'success' ? undefined : row.status === 'unknown' ? 'unknown' : codeOf(row)
  const shown: Attributes = {
    [INPUT]: contents.inputs ? attributeText(row.inputJson ?? undefined) : undefined,
    [OUTPUT]: contents.outputs ? attributeText(row.outputJson ?? row.errorJson ?? undefined) : undefined,
  }
  return {
    traceId: traceIdOf(run),
    spanId: idOf(SPAN_ID, 'call', run.runId, run.startedAtMs, row.row),
    parentSpanId: runSpanId(run),
    name: kind === 'task' ? `task ${row.nodeId}` : toolSpanName(toolName),
    kind: INTERNAL,
    startTimeUnixNano: nanoseconds(startedAtMs),
    endTimeUnixNano: nanoseconds(startedAtMs + (durationOf(row) ?? 0)),
    attributes: otlpAttributes({ ...(kind === 'task' ? {} : identity(toolName, row.callToken)), ...fields(row, code), ...shown }),
    status: code === undefined ? {} : { code: ERROR, message: code },
  }
}

function fields(row: ToolCallRow, code: string | undefined): Attributes {
  return {
    'toolwright.run_id': row.runId,
    'toolwright.node_id': row.nodeId,
    'toolwright.iteration': row.iteration,
    'toolwright.attempt': row.attempt,
    'toolwright.seq': row.seq,
    'toolwright.side_effect': row.sideEffect ?? undefined,
    'toolwright.idempotent': row.idempotent ?? undefined,
    'toolwright.acted': row.acted,
    'toolwright.code': code ?? 'ok',
    'error.type': code,
    'process.exit.code': exitCodeOf(row),
    'toolwright.output.bytes': outputBytesOf(row) ?? undefined,
    'toolwright.output.truncated': row.isCut ? true : undefined,
    'toolwright.waited_ms': waitedMs(row) ?? undefined,
    'toolwright.revert_status': row.revertStatus ?? undefined,
  }
}

/** The code of a recorded error, or else its name. */
function codeOf({ errorJson }: ToolCallRow): string {
  try {
    const { code, name } = JSON.parse(errorJson ?? '') as Record<string, unknown>
    if (typeof code === 'string') return code
    if (typeof name === 'string') return name
  } catch {
    // Another program may have written the row.
  }
  return 'error'
}

function exitCodeOf(row: ToolCallRow): number | undefined {
  const code = /^exit (\d+)$/u.exec(exitOf(row))?.[1]
  if (code !== undefined) return Number(code)
  try {
    const { details } = JSON.parse(row.errorJson ?? '') as { details?: { exitCode?: unknown } }
    return typeof details?.exitCode === 'number' ? details.exitCode : undefined
  } catch {
    return undefined
  }
}

/** Attributes in the JSON of OTLP. */
export function otlpAttributes(attributes: Attributes): OtlpSpan['attributes'] {
  return Object.entries(known(attributes)).map(([key, value]) => ({ key, value: otlpValue(value) }))
}

function otlpValue(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
