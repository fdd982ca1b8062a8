import { boolean, type Checks, checked, oneOf, optional, parseOptions, positive, text } from '../core/options.js'
import { settledWithin } from '../core/abort.js'
import { nativeAddon } from '../core/native.js'
import type { JournalStore, RecoveredCalls, ToolCallRef } from '../journal/journal-store.js'
import { addMeasuredStore } from '../journal/store-channels.js'
import { Archive, archiveChecks, type Archived, type ArchiveOptions } from './archive/archive.js'
import { Attempts } from './attempts.js'
import { Claims } from './claims.js'
import { clientOf, type PostgresClient } from './client.js'
import { callError } from './failures.js'
import { KeyNotes } from './key-notes.js'
import { Owner } from './owner.js'
import { makeDays } from './old-days.js'
import { pruneChecks, type PruneOptions, pruneRuns } from './prune.js'
import { type JournalOwner, Reads } from './reads.js'
import { checkSchema, migrate } from './ready.js'
import { Recovery } from './recovery.js'
import { Reverts } from './reverts.js'
import { type MigrationOptions, migrationChecks } from './schema.js'
import { begunColumns, checkedTask, endColumns } from './rows.js'
import { Session } from './session.js'
import { statementsFor } from './statements.js'
import { lostCall, TakenBack } from './taken-back.js'
import { Unheard } from './unheard.js'
import { Writer } from './writer.js'

/** How long the end of a store waits for answers that were lost. */
const CLOSE_MS = 2_000

/** Options of {@link postgresStore}. */
export interface PostgresStoreOptions {
  /** The schema of the tables. @default 'public' */
  schema?: string | undefined
  /**
   * How long this process may be silent until another one may take over its calls and tasks, in milliseconds. A third of it
   * passes between two heartbeats.
   * @default 15000
   */
  leaseMs?: number | undefined
  /** How long a call waits for a server that does not answer, in milliseconds. @default 10000 */
  patienceMs?: number | undefined
  /** Whether statements stay prepared on their connections; false for a pooler that cannot keep them apart. @default true */
  prepare?: boolean | undefined
  /** The most bytes of an output or an error that a row keeps. @default 200000 */
  maxOutputBytes?: number | undefined
  /** How many statements that write are under way at the same time. @default 2 */
  writers?: 1 | 2 | undefined
  /** Whether missing tables are made at the first use. Without it they come from `npx toolwright journal migrate`. @default true */
  migrate?: boolean | undefined
  /**
   * Whether tables that are missing get a partition for each day. Tables that are there are partitioned by `migrate` alone.
   * @default in one table
   */
  partition?: 'day' | undefined
  /** Whether the journal is only read, perhaps on a replica. @default false */
  readOnly?: boolean | undefined
  /** A name of this process for people, in the table of owners. */
  label?: string | undefined
  /** The name of the store in messages. @default 'postgres' */
  location?: string | undefined
}

const storeChecks = {
  schema: optional(text, 'public'),
  leaseMs: optional(positive(), 15_000),
  patienceMs: optional(positive(), 10_000),
  prepare: optional(boolean, true),
  maxOutputBytes: optional(positive(), 200_000),
  writers: optional(oneOf2, 2),
  migrate: optional(boolean, true),
  ...migrationChecks,
  readOnly: optional(boolean, false),
  label: optional(text),
  location: optional(text, 'postgres'),
} satisfies Checks<PostgresStoreOptions>

function oneOf2(value: unknown, name: string): 1 | 2 {
  return Number(oneOf('1', '2')(String(value), name)) as 1 | 2
}

/** What `postgresStore` returns, for `openJournal`. */
export interface PostgresStore extends JournalStore {
  beginTask: NonNullable<JournalStore['beginTask']>
  /** Where its rows are, in messages. */
  readonly location: string
  /** Makes the tables, or brings them up to date; `partition` also makes a table without partitions the first of them. */
  migrate(options?: MigrationOptions): Promise<void>
  /**
   * Writes whole runs that ended before a time to Parquet files, and removes them when those are on the disk. `hyparquet-writer` has
   * to be installed. One process at a time prunes or archives.
   *
   * @throws {ToolError} JOURNAL_TASK_LOCKED; JOURNAL_OPEN_FAILED without the package; JOURNAL_DISK_FULL, JOURNAL_IO_FAILED. What was
   * not written is not removed.
   */
  archive(options: ArchiveOptions): Promise<Archived>
  /** Removes whole runs that ended before a time. One process at a time prunes or archives. @returns the number of rows. */
  prune(options: PruneOptions): Promise<number>
  /** Begins the lease of this process now, and not with its first call; again, if it has ended. */
  join(): Promise<void>
  /** The processes that record, oldest first. One that is not alive was silent for too long, and nobody has taken over yet. */
  owners(): Promise<JournalOwner[]>
  /** The number of statements so far. */
  readonly statements: number
}

/**
 * A journal in PostgreSQL 13 or later, on a client of your own, for any number of processes on any number of machines. The
 * table of calls is the same as in a file.
 *
 * @example
 * ```ts
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL })
 * await using journal = await openJournal(postgresStore(pool))
 * ```
 * @param client a pool of `pg`, the `sql` of postgres.js or of Bun, or an object with `query`. The store does not close it.
 * @throws {ToolError} INVALID_INPUT. Each method throws JOURNAL_UNREACHABLE, JOURNAL_OPEN_FAILED, JOURNAL_READ_ONLY,
 * JOURNAL_SCHEMA_MISMATCH, JOURNAL_NOT_FOUND, JOURNAL_DISK_FULL or JOURNAL_IO_FAILED before a call is made, and
 * JOURNAL_OWNER_FENCED when another process may have taken over.
 */
export function postgresStore(client: PostgresClient, options: PostgresStoreOptions = {}): PostgresStore {
  const parsed = parseOptions('postgresStore', options, storeChecks)
  const { schema, location, readOnly, maxOutputBytes } = parsed
  const sql = checked('postgresStore', () => clientOf(client, parsed.prepare))
  const session = new Session(sql, location, parsed.patienceMs)
  const statements = statementsFor(schema, 'table')
  const owner = new Owner(session, schema, parsed.leaseMs, parsed.label, () => recovery.begin())
  const died = (): string => diedJson
  const unheard = new Unheard(session, owner, parsed.leaseMs)
  const takenBack = new TakenBack(session, owner, statements, () => writer, died)
  const writer: Writer = new Writer(session, owner, statements, parsed.writers, (columns, lease) => {
    const lost = lostCall(columns, lease)
    unheard.note(JSON.stringify([lost.runId, lost.nodeId, lost.iteration, lost.place, lost.start]), lease, () => takenBack.call(lost))
  })
  const keyNotes = new KeyNotes(session, statements)
  /** Which lease wrote the rows that this store can complete. */
  const writers = new Map<number, number>()
  let addon: Awaited<ReturnType<typeof nativeAddon>> | undefined
  let diedJson = ''
  let opening: Promise<void> | undefined
  let closing: Promise<void> | undefined

  const open = async (): Promise<void> => {
    addon = await nativeAddon()
    diedJson = addon.processDiedJson()
    const layout = await checkSchema(session, schema, parsed.migrate && !readOnly, parsed.partition === 'day' ? 'days' : 'table')
    Object.assign(statements, statementsFor(schema, layout))
    if (layout === 'days' && parsed.migrate && !readOnly) await makeDays(session, statements)
  }
  session.onPartitioned = async () => {
    if (!statements.isByDay) Object.assign(statements, statementsFor(schema, await checkSchema(session, schema, false)))
  }
  /** Waits until the schema was seen. A failure is told, and the next call tries again. */
  const ready = async (): Promise<void> => {
    if (addon !== undefined && opening === undefined) return
    opening ??= open()
    try {
      await opening
      opening = undefined
    } catch (error) {
      opening = undefined
      addon = undefined
      throw error
    }
  }
  const native = () => addon as NonNullable<typeof addon>
  const taking: [Unheard, TakenBack] = [unheard, takenBack]
  const attempts = new Attempts(session, owner, statements, taking, died)
  const claims = new Claims(session, owner, statements, taking, died)
  const reverts = new Reverts(session, owner, statements, taking)
  const reads = new Reads(session, statements, (json) => native().argsHash(json))
  const recovery: Recovery = new Recovery(session, owner, statements, died)
  /** For a reader: what was recorded before is there. */
  const settled = async (): Promise<void> => {
    await ready()
    await writer.settle()
  }
  const rowOf = async (row: number) => (await reads.numbered([row]))[0]
  const ownerOf = async (call: ToolCallRef): Promise<{ number: number; start: number; owner: number | null }> => {
    const { row, startedAtMs } = call
    const known = row === undefined ? undefined : writers.get(row)
    if (row !== undefined && startedAtMs !== undefined && known !== undefined) return { number: row, start: startedAtMs, owner: known }
    const found = await reads.find(call, call.attempt, call.seq)
    if (found === undefined) throw callError('JOURNAL_CALL_MISSING', 'Call is not in the journal', row ?? 0, location)
    return { number: found.row, start: startedAtMs ?? found.start, owner: writers.get(found.row) ?? found.owner }
  }

  /** Does what two processes must not do at the same time. */
  const alone = async <T>(work: () => Promise<T>): Promise<T> => {
    await settled()
    // Whoever maintains a table for weeks has to know its days.
    await session.onPartitioned?.()
    const lock = await attempts.lock({ runId: '_toolwright', nodeId: 'retention', iteration: 0 }, 1)
    try {
      // What the dead have left is over, too.
      await recovery.recover()
      return await work()
    } finally {
      await lock.release()
    }
  }

  const measured = { store: location, queued: () => writer.queued, owners: () => reads.countOwners() }
  const stopMeasuring = readOnly ? undefined : addMeasuredStore(measured)

  return {
    location,
    get statements() {
      return session.statements
    },
    async insertToolCall(call) {
      await ready()
      const { status = 'started' } = call
      const isOver = status !== 'started'
      const end = isOver ? endColumns({ ...call, status }, maxOutputBytes, native().fitJson) : undefined
      const columns = begunColumns(call, end)
      const { runId, nodeId, iteration = 0, attempt, seq } = call
      const ref = { runId, nodeId, iteration, attempt, seq, startedAtMs: Number(columns['started_at_ms']) }
      if (isOver && call.sideEffect !== true) {
        await writer.behind(columns)
        return ref
      }
      const { row, lease } = await writer.begin(columns)
      if (isOver) return ref
      writers.set(row, lease.id)
      return { ...ref, row }
    },
    async updateToolCall(call, end) {
      await ready()
      const columns = endColumns(end, maxOutputBytes, native().fitJson)
      if (call.row !== undefined) keyNotes.remove(call.row)
      const { number, start, owner: writtenBy } = await ownerOf(call)
      await writer.end({ number, start, owner: writtenBy, run_id: call.runId, ...columns })
      writers.delete(number)
      owner.closed(number)
    },
    noteKeyRead({ row, startedAtMs: start, runId }) {
      const noted = row === undefined ? undefined : writers.get(row)
      if (row !== undefined && start !== undefined && noted !== undefined) keyNotes.add({ run_id: runId, number: row, owner: noted, start })
    },
    async listToolCalls(runId, nodeId, iteration, listed) {
      await settled()
      return reads.task({ runId, nodeId, iteration }, listed)
    },
    async listRun(runId, listed) {
      await settled()
      return reads.run(runId, listed)
    },
    async listRuns(listed) {
      await settled()
      return reads.runs(listed)
    },
    async readRows(after, limit) {
      await settled()
      return reads.after(after, limit)
    },
    async readSince(cursor, limit) {
      await settled()
      return reads.since(cursor, limit)
    },
    async rows(numbers) {
      await settled()
      return reads.numbered(numbers)
    },
    async lastRow() {
      await settled()
      return reads.lastRow()
    },
    async lastAttempt(task) {
      await settled()
      return reads.lastAttempt(task)
    },
    async priorEffects(task, attempt) {
      await settled()
      return reads.priorEffects(task, attempt)
    },
    async recordedCall(task, toolName, argsHash, ordinal) {
      await settled()
      return reads.recorded(task, toolName, argsHash, ordinal)
    },
    async lockTask(task, attempt) {
      await settled()
      return attempts.lock(task, attempt)
    },
    async beginTask(task, attempt) {
      checkedTask(task)
      await settled()
      return attempts.begin(task, attempt)
    },
    async claimCall(call, { repeat = false } = {}) {
      await ready()
      const { owner: writtenBy, ...claim } = await claims.claim(call, repeat, rowOf)
      if ('claimed' in claim && claim.claimed.row !== undefined) writers.set(claim.claimed.row, Number(writtenBy))
      return claim
    },
    async claimRevert(row) {
      await settled()
      return reverts.claim(row, rowOf)
    },
    async finishRevert(row, errorJson) {
      await ready()
      return reverts.finish(row, errorJson)
    },
    async leftOpen() {
      await ready()
      return recovery.leftOpen()
    },
    async recover(): Promise<RecoveredCalls> {
      await settled()
      return recovery.recover()
    },
    async flush() {
      await ready()
      await keyNotes.settle()
      await writer.flush()
    },
    close() {
      return (closing ??= (async () => {
        stopMeasuring?.()
        recovery.stop()
        try {
          await settledWithin(Promise.all([unheard.close(), keyNotes.settle()]), CLOSE_MS)
          await writer.flush(true)
        } finally {
          session.close()
          await owner.close().finally(() => sql.end?.())
        }
      })())
    },
    async migrate(migration = {}) {
      const { partition = parsed.partition } = parseOptions('migrate', migration, migrationChecks)
      const layout = await migrate(session, schema, partition === 'day' ? 'days' : 'table')
      Object.assign(statements, statementsFor(schema, layout))
    },
    async join() {
      await ready()
      await owner.current()
    },
    async owners() {
      await ready()
      return reads.owners()
    },
    async prune(pruned) {
      const { beforeMs, batchRows } = parseOptions('prune', pruned, pruneChecks)
      return alone(() => pruneRuns(session, statements, beforeMs, batchRows))
    },
    async archive(archived) {
      const parsedOptions = parseOptions('archive', archived, archiveChecks)
      return alone(() => new Archive(session, statements, parsedOptions).write())
    },
  }
}
