import { settledWithin } from '../core/abort.js'
import { ToolError } from '../core/errors.js'
import { boolean, checked, type Checks, must, optional, parseOptions, positive, wholeNumber } from '../core/options.js'
import { beginTask } from './begin-task.js'
import { argumentChecks, tailChecks } from './checks.js'
import type { Journal, OnJournalFailure } from './journal.js'
import type { ClaimOptions, JournalStore, ListOptions, ListRunOptions, ListRunsOptions, RunSummary } from './journal-store.js'
import { lateOutcomesOf } from './late-outcomes.js'
import { tailRows } from './read-rows.js'

const listChecks = { outline: optional(boolean) } satisfies Checks<ListOptions>
const listRunsChecks = {
  limit: optional(wholeNumber(1)),
  beforeMs: optional(positive()),
  before: optional(
    must<NonNullable<ListRunsOptions['before']>>((value) => {
      const { runId, startedAtMs } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
      return typeof runId === 'string' && typeof startedAtMs === 'number'
    }, 'a run that listRuns gave'),
  ),
} satisfies Checks<ListRunsOptions>
const claimChecks = { repeat: optional(boolean, false) } satisfies Checks<ClaimOptions>
const listRunChecks = { reverse: optional(boolean), ...listChecks } satisfies Checks<ListRunOptions>

/** How long the end of a journal waits for outcomes that could not be recorded yet. */
const CLOSE_MS = 2_000

type Started = Pick<RunSummary, 'startedAtMs' | 'runId'>
/** By when runs began; those of the same millisecond by the bytes of their ids. */
const byStart = (one: Started, other: Started): number =>
  one.startedAtMs - other.startedAtMs || Buffer.compare(Buffer.from(one.runId), Buffer.from(other.runId))

/** A store with the options of `openJournal`. Arguments are checked here, so that a store need not. */
export function storeJournal(store: JournalStore, location: string, onFailure: OnJournalFailure, redactKeys: boolean): Journal {
  let closed = false

  const open = (): JournalStore => {
    if (!closed) return store
    const summary = 'Journal is closed'
    throw new ToolError({
      code: 'JOURNAL_CLOSED',
      summary,
      place: `${summary}: \`${location}\``,
      hint: 'Open it again, or close it only after the last call.',
      details: { path: location },
    })
  }

  /** The store, for a method with these arguments. */
  const check = (method: keyof JournalStore, values: { [NAME in keyof typeof argumentChecks]?: unknown }): JournalStore => {
    checked(`journal.${method}`, () => {
      for (const [name, value] of Object.entries(values)) argumentChecks[name as keyof typeof argumentChecks](value, name)
    })
    return open()
  }

  const journal: Journal = {
    location,
    onFailure,
    redactKeys,
    get closed() {
      return closed
    },
    insertToolCall: (call) => check('insertToolCall', { call }).insertToolCall(call),
    updateToolCall: (ref, end) => check('updateToolCall', { ref, end }).updateToolCall(ref, end),
    noteKeyRead: (ref) => check('noteKeyRead', { ref }).noteKeyRead?.(ref),
    async listToolCalls(runId, nodeId, iteration = 0, options = {}) {
      const listed = parseOptions('journal.listToolCalls', options, listChecks)
      return check('listToolCalls', { runId, nodeId, iteration }).listToolCalls(runId, nodeId, iteration, listed)
    },
    async listRun(runId, options = {}) {
      const listed = parseOptions('journal.listRun', options, listRunChecks)
      return check('listRun', { runId }).listRun(runId, listed)
    },
    async listRuns(options = {}) {
      const { limit, beforeMs = Infinity, before } = parseOptions('journal.listRuns', options, listRunsChecks)
      const runs = await open().listRuns(options)
      // A store may give more than was asked for, in any order.
      const isWanted = (run: RunSummary): boolean => run.startedAtMs < beforeMs && (before === undefined || byStart(run, before) < 0)
      const wanted = runs.filter(isWanted).sort(byStart)
      return limit === undefined ? wanted : wanted.slice(-limit)
    },
    readRows: async (after, limit) => check('readRows', { after, limit }).readRows(after, limit),
    rows: async (numbers) => check('rows', { numbers }).rows(numbers),
    lastRow: async () => open().lastRow(),
    readSince: async (cursor, limit) => check('readSince', { cursor, limit }).readSince(cursor, limit),
    lastAttempt: async (task) => check('lastAttempt', { task }).lastAttempt(task),
    priorEffects: async (task, attempt) => check('priorEffects', { task, attempt }).priorEffects(task, attempt),
    recordedCall: async (task, toolName, argsHash, ordinal) =>
      check('recordedCall', { task, toolName, argsHash, ordinal }).recordedCall(task, toolName, argsHash, ordinal),
    lockTask: async (task, attempt) => check('lockTask', { task, attempt }).lockTask(task, attempt),
    async beginTask(task, attempt) {
      // Of a journal that a host has wrapped, its own methods.
      return check('beginTask', { task, wanted: attempt }).beginTask?.(task, attempt) ?? beginTask(this, task, attempt)
    },
    async claimCall(claimed, options = {}) {
      const { repeat } = parseOptions('journal.claimCall', options, claimChecks)
      return check('claimCall', { claimed }).claimCall(claimed, { repeat })
    },
    claimRevert: async (row) => check('claimRevert', { row }).claimRevert(row),
    finishRevert: async (row, errorJson) => check('finishRevert', { row, errorJson }).finishRevert(row, errorJson),
    leftOpen: async () => (await open().leftOpen?.()) ?? [],
    recover: async () => open().recover(),
    flush: async () => open().flush(),
    async close() {
      closed = true
      if (late.isLeft) await settledWithin(late.settle(), CLOSE_MS)
      await store.close()
    },
    tail: (options = {}) => tailRows(journal, parseOptions('journal.tail', options, tailChecks)),
    [Symbol.asyncDispose]: () => journal.close(),
  }
  const late = lateOutcomesOf(journal, store)
  return journal
}
