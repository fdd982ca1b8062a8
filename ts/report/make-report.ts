import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { CheckpointDiff } from '../journal/checkpoints/checkpoints.js'
import type { Journal } from '../journal/journal.js'
import type { ToolCallRow } from '../journal/journal-store.js'
import { endingOf, errorOf, exitOf, inputBytesOf, outputBytesOf } from './call-fields.js'
import { forkWorkOf } from './fork-work.js'
import { agentOf, changesOf, refusalsOf } from './call-findings.js'
import { callTexts, waitedMs } from './call-texts.js'
import type { CallDiffs } from './checkpoint-diffs.js'
import { type CallLimits, type LatestCalls, latestCalls } from './latest-calls.js'
import { readableRows, UnreadCalls } from './readable-calls.js'
import type { CallTexts, LeftOut, ReportCall, ReportData } from './report-data.js'
import { shownTarget } from './shown-target.js'

/** Options of {@link packReport}. */
export interface ReportOptions extends CallLimits {
  /** The title of the report: the journal's file name. */
  source: string
  /** Only this run. @default all */
  runId?: string | undefined
  /** The most bytes of the packed data. Texts are cut until it fits, down to a minimum for each. @default 4,000,000 */
  maxBytes?: number | undefined
  /** What calls have changed, where checkpoints have it. */
  diffs?: CallDiffs | undefined
  /** Called with the number of calls that have been read, and the number of all. */
  onProgress?: ((done: number, all: number) => void) | undefined
}

const MAX_BYTES = 4_000_000
/** The most characters of all texts together in the first attempt. They compress to about MAX_BYTES. */
const MAX_CHARACTERS = 30_000_000
/** The limits of one text, in characters. */
const MAX_TEXT = 200_000
const MIN_TEXT = 200

/** A report, packed for its page. */
export interface PackedReport {
  /** The gzipped JSON of a {@link ReportData}, in base64. */
  base64: string
  calls: number
  /** Whether texts were cut to fit, beyond what the journal itself had cut. */
  isCut: boolean
  /** Earlier calls that are not on the page; `null` if all are. */
  leftOut: LeftOut | null
  /** What could not be read and is not on the page, each in one line. */
  unread: readonly string[]
}

/** Reads a journal and packs the data of its page. */
export async function packReport(journal: Journal, options: ReportOptions): Promise<PackedReport> {
  const unreadRuns = new UnreadCalls()
  const latest = await latestCalls(journal, options.runId, options, unreadRuns)
  const { leftOut } = latest
  let limit = Math.min(MAX_TEXT, Math.max(MIN_TEXT, Math.floor(MAX_CHARACTERS / Math.max(1, 2 * latest.outlines.length))))
  const { maxBytes = MAX_BYTES } = options
  for (;;) {
    const unread = new UnreadCalls()
    const data = await readReport(journal, latest, limit, options, unread)
    const base64 = (await promisify(gzip)(JSON.stringify(data))).toString('base64')
    if (base64.length <= maxBytes || limit <= MIN_TEXT) {
      return { base64, calls: data.calls.length, isCut: isAnyCut(data), leftOut, unread: [...unreadRuns.lines, ...unread.lines] }
    }
    limit = Math.max(MIN_TEXT, Math.floor(limit * Math.min(0.5, maxBytes / base64.length)))
  }
}

async function readReport(
  journal: Journal,
  { outlines, leftOut }: LatestCalls,
  limit: number,
  options: ReportOptions,
  unread: UnreadCalls,
): Promise<ReportData> {
  const data: ReportData = { source: options.source, madeAtMs: Date.now(), calls: [], leftOut, texts: {} }
  let done = 0
  for await (const batch of readableRows(journal, outlines, unread)) {
    const changed = new Map<number, CheckpointDiff | undefined>()
    if (options.diffs !== undefined) for (const row of batch) changed.set(row.row, await options.diffs.of(row))
    const show = (row: ToolCallRow) => [reportCall(row, changed.get(row.row)), callTexts(row, limit, changed.get(row.row))] as const
    for (const [call, texts] of unread.shown(batch, show)) {
      data.calls.push(call)
      data.texts[call.row] = texts
    }
    options.onProgress?.((done += batch.length), outlines.length)
  }
  return data
}

const isAnyCut = ({ texts }: ReportData): boolean => Object.values(texts).some(isCut)

const isCut = ({ input, output, error, diff, changed }: CallTexts): boolean =>
  [input, output, error, diff, changed].some((text) => (text?.leftOut ?? 0) > 0)

/** Turns a row into a call of the timeline and the list. */
export function reportCall(row: ToolCallRow, diff?: CheckpointDiff): ReportCall {
  return {
    row: row.row,
    runId: row.runId,
    nodeId: row.nodeId,
    iteration: row.iteration,
    attempt: row.attempt,
    seq: row.seq,
    tool: row.toolName,
    isTask: row.kind === 'task',
    target: beginning(shownTarget(row), 300),
    ending: endingOf(row),
    startedAtMs: row.startedAtMs,
    finishedAtMs: row.finishedAtMs,
    waitedMs: waitedMs(row),
    inputBytes: inputBytesOf(row),
    outputBytes: outputBytesOf(row),
    sideEffect: row.sideEffect,
    idempotent: row.idempotent,
    callToken: row.callToken,
    revertStatus: row.revertStatus,
    exit: exitOf(row),
    reason: beginning(errorOf(row), 300),
    agent: agentOf(row),
    changes: changesOf(row, diff),
    refusals: refusalsOf(row),
    fork: forkWorkOf(row),
  }
}

const beginning = (text: string, length: number): string =>
  text.length <= length ? text : `${Buffer.from(text.slice(0, length - 1)).toString()}…`
