/** Makes the report of a call on a process. */
import { outputPart, type OutputPart } from './output-part.js'
import type { ProcessReport } from './process-report.js'
import type { TableEntry } from './process-entry.js'
import { beyondOutput, leftBehindNote } from './process-texts.js'
import { REPORT_BYTES } from './process-tools.js'
import type { ProcessFacts } from './wait-for-news.js'

/** The part of the output in a report, and its further contents. */
export interface ReportRequest {
  /** A position; a negative one counts from the end. @default the end of the last report */
  from?: number | undefined
  stream?: 'stdout' | 'stderr'
  maxBytes?: number | undefined
  maxJsonBytes: number
  notes?: readonly string[]
}

export async function reportOn(entry: TableEntry, facts: ProcessFacts, request: ReportRequest): Promise<ProcessReport> {
  const { id, process, next, isStderrApart } = entry
  const { from, stream = 'stdout', maxBytes = REPORT_BYTES, maxJsonBytes, notes = [] } = request
  // Read before the output, because later output belongs to a later report.
  const { end } = process
  const start = from === undefined ? next[stream] : from < 0 ? Math.max(0, (await written(entry, stream)) + from) : from
  const part = await outputPart(process, { stream, from: start, maxBytes, maxJsonBytes, continues: start === next[stream] })
  next[stream] = part.next
  const report: ProcessReport = {
    process_id: id,
    running: end === undefined,
    output: withoutSecrets(part.text, entry.secrets),
    from: part.at,
    next: part.next,
    ...counts(part, start),
  }
  const unread = isStderrApart ? (await written(entry, 'stderr')) - next.stderr : 0
  if (unread > 0) report.stderr_unread_bytes = unread
  if (facts.port !== undefined && end === undefined) report.port = facts.port
  if (facts.waitsForInput && end === undefined) report.waits_for_input = true
  if (end !== undefined) Object.assign(report, { exit_code: end.exitCode ?? null, signal: end.signal ?? null })
  const leftovers = end === undefined ? undefined : leftBehindNote(end)
  const beyond = from !== undefined && from > part.total ? [beyondOutput(from, part.total)] : []
  const masked = [process.takeMaskNote()].filter((note) => note !== undefined)
  const all = [...beyond, ...notes, ...masked, ...(end?.notes ?? []), ...(leftovers === undefined ? [] : [leftovers])]
  if (all.length > 0) report.notes = all
  return report
}

function counts({ at, next, total }: OutputPart, from: number): Pick<ProcessReport, 'missing_bytes' | 'unread_bytes'> {
  // A position after the end means the end.
  const missing = at - Math.min(from, total)
  return {
    // Fewer bytes are the rest of a character.
    ...(missing > 3 ? { missing_bytes: missing } : {}),
    ...(total > next ? { unread_bytes: total - next } : {}),
  }
}

/** The number of bytes that a process has written. */
export async function written({ process }: Pick<TableEntry, 'process'>, stream: 'stdout' | 'stderr'): Promise<number> {
  return (await process.read({ stream, from: Number.MAX_SAFE_INTEGER, maxBytes: 0 })).total
}

/** Shorter secrets are not replaced, because they occur everywhere by chance. */
const MIN_SECRET_LENGTH = 4

function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => (secret.length < MIN_SECRET_LENGTH ? rest : rest.replaceAll(secret, '[secret]')), text)
}
