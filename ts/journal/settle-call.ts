import { ToolError } from '../core/errors.js'
import { anything, checked, type Checks, invalid, oneOf, optional, parseOptions, text, wholeNumber } from '../core/options.js'
import { settledOutput } from './calls/recorded-values.js'
import { checkJournal } from './checks.js'
import type { Journal } from './journal.js'
import type { ToolCallEnd, ToolCallRow } from './journal-store.js'

/** What a person says of a call, for {@link settleCall}. */
export interface SettledCall {
  /** The run of the call. */
  runId: string
  /** The AI SDK's id of the call, or the id that `callOnce` was given: `callToken` of its row. One of the two. */
  callId?: string | undefined
  /** The number of its row. */
  row?: number | undefined
  /** The task of the call, where several tasks of the run have this id. */
  nodeId?: string | undefined
  /**
   * `done`: it was made, and whoever executes it again gets `output`. `failed`: it was made and went wrong. `not-done`: nothing was
   * done, and it is made when it is executed again.
   */
  outcome: 'done' | 'failed' | 'not-done'
  /** Its result, for `done`. @default nothing */
  output?: unknown
  /** Who says so, for the record. */
  by: string
  /** Why, for the record. */
  note?: string | undefined
}

const settleChecks = {
  runId: text,
  callId: optional(text),
  row: optional(wholeNumber(1)),
  nodeId: optional(text),
  outcome: oneOf('done', 'failed', 'not-done'),
  output: anything<unknown>(),
  by: text,
  note: optional(text),
} satisfies Checks<SettledCall>

/**
 * Settles a call whose outcome nobody knows, or that is stuck: a person has looked, and says what became of it. The row keeps who said so.
 * A call that is still being made ends for everybody else, and its own outcome is not recorded any more.
 *
 * @example
 * ```ts
 * await settleCall(journal, { runId: 'run-7', callId: 'call_1', outcome: 'done', output: { paid: true }, by: 'ada' })
 * ```
 * @returns the row before.
 * @throws {ToolError} JOURNAL_CALL_MISSING; JOURNAL_CALL_FINISHED for a call with a known outcome; INVALID_INPUT, also where several calls fit.
 */
export async function settleCall(journal: Journal, call: SettledCall): Promise<ToolCallRow> {
  const parsed = parseOptions('settleCall', call, settleChecks)
  const store = checked('settleCall', () => checkJournal(journal))
  const row = await settledRow(store, parsed)
  const { runId, nodeId, iteration, attempt, seq, startedAtMs } = row
  await store.updateToolCall({ runId, nodeId, iteration, attempt, seq, startedAtMs }, endOf(parsed, row))
  return row
}

/** The calls of a run, or of all runs, that can be settled. */
export async function unsettledCalls(journal: Journal, runId?: string): Promise<ToolCallRow[]> {
  const runs = runId === undefined ? await runsWithUnsettledCalls(journal) : [runId]
  const rows: ToolCallRow[] = []
  for (const id of runs) rows.push(...(await journal.listRun(id, { outline: true })).filter(isUnsettled))
  return rows
}

/** Of a run whose calls have all succeeded or failed, no call is read: those of a year are very many. */
async function runsWithUnsettledCalls(journal: Journal): Promise<string[]> {
  const runs = await journal.listRuns()
  return runs.filter(({ calls, succeeded, failed }) => calls > succeeded + failed).map(({ runId }) => runId)
}

const isUnsettled = ({ status }: ToolCallRow): boolean => status === 'unknown' || status === 'started'

type Wanted = Omit<SettledCall, 'output'> & { output?: unknown }

async function settledRow(journal: Journal, { runId, nodeId, callId, row: number }: Wanted): Promise<ToolCallRow> {
  if ((callId === undefined) === (number === undefined)) {
    throw checked('settleCall', () => invalid('Name the call by callId or by row.'))
  }
  const rows = await journal.listRun(runId, { outline: true })
  const isWanted = (row: ToolCallRow): boolean =>
    (number === undefined ? row.callToken === callId : row.row === number) && (nodeId === undefined || row.nodeId === nodeId)
  const found = rows.filter(isWanted)
  const open = found.filter(isUnsettled)
  const [row = found[0]] = open
  if (row === undefined) {
    const summary = 'Call is not in the journal'
    const hint = 'List the calls that can be settled: npx toolwright calls settle <journal>.'
    const place = `${summary}: ${callId ?? `row ${number}`} of run \`${runId}\` in \`${journal.location}\``
    throw new ToolError({ code: 'JOURNAL_CALL_MISSING', summary, place, hint, details: { path: journal.location, runId } })
  }
  if (open.length > 1) {
    const numbers = open.map((one) => one.row).join(', ')
    throw checked('settleCall', () => invalid(`Several calls have the id ${callId}: name one by row: ${numbers}.`))
  }
  if (open.length === 1) return row
  const summary = 'Call already has its outcome'
  const place = `${summary}, ${row.status}: ${row.toolName}, row ${row.row} in \`${journal.location}\``
  const hint = 'Only a call that is unknown or has not ended can be settled.'
  throw new ToolError({ code: 'JOURNAL_CALL_FINISHED', summary, place, hint, details: { path: journal.location, row: row.row } })
}

function endOf({ outcome, output, by, note }: Wanted, { status: was }: ToolCallRow): ToolCallEnd {
  const settled = { by, at: new Date().toISOString(), was, ...(note !== undefined && { note }) }
  if (outcome === 'done') return { status: 'success', ...settledOutput(output, settled) }
  const what = outcome === 'failed' ? 'was made and went wrong' : 'was not made'
  const message = `${by} says that the call ${what}${note === undefined ? '' : `: ${note}`}`
  return { status: 'error', acted: outcome === 'failed', errorJson: JSON.stringify({ name: 'Settled', message, settled }) }
}
