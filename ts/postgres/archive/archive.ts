/** Old runs as Parquet files, which any number of years may stay, and which no journal has to carry. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { boolean, type Checks, optional, type Parsed, path, wholeNumber } from '../../core/options.js'
import { printableJson } from '../../core/printable.js'
import { partitionOf } from '../days.js'
import { makeDays, oldDays, removeDay } from '../old-days.js'
import { arrayOf, type OldRun, oldRuns, PAGE_RUNS, removeRuns } from '../old-runs.js'
import { time } from '../prune.js'
import type { SqlRow } from '../client.js'
import type { Session } from '../session.js'
import type { Statements } from '../statements.js'
import { type FileColumn, ParquetFile } from './parquet-file.js'

/** What is archived, and where. */
export interface ArchiveOptions {
  /** Runs whose last call began and ended before this time, in milliseconds since 1970. At most now. */
  beforeMs: number
  /** The folder of the files. It is made if it is missing. */
  directory: string
  /** Whether the rows stay in the journal, too. @default false */
  keep?: boolean | undefined
  /** The most rows of a transaction that removes some. @default 5000 */
  batchRows?: number | undefined
}

export const archiveChecks = {
  beforeMs: time,
  directory: path,
  keep: optional(boolean, false),
  batchRows: optional(wholeNumber(1), 5_000),
} satisfies Checks<ArchiveOptions>

/** What was archived. */
export interface Archived {
  rows: number
  /** The paths of the files, `DIRECTORY/day=YYYY-MM-DD/calls-UUID.parquet`. */
  files: string[]
  /** What stays in the journal, because no archive can hold it: a line for each run or day, with the reason. */
  left: string[]
}

/** The columns of a file: those of the table. */
const COLUMNS: readonly FileColumn[] = [
  ['run_id', 'STRING'],
  ['node_id', 'STRING'],
  ['iteration', 'INT64'],
  ['attempt', 'INT64'],
  ['seq', 'INT64'],
  ['call_token', 'STRING'],
  ['tool_name', 'STRING'],
  ['input_json', 'STRING'],
  ['output_json', 'STRING'],
  ['started_at_ms', 'INT64'],
  ['finished_at_ms', 'INT64'],
  ['status', 'STRING'],
  ['error_json', 'STRING'],
  ['kind', 'STRING'],
  ['side_effect', 'INT64'],
  ['idempotent', 'INT64'],
  ['accepts_idempotency_key', 'INT64'],
  ['has_revert', 'INT64'],
  ['idempotency_key', 'STRING'],
  ['revert_status', 'STRING'],
  ['reverted_at_ms', 'INT64'],
  ['revert_error_json', 'STRING'],
  ['forced_past_json', 'STRING'],
  ['tw_args_hash', 'STRING'],
  ['tw_ordinal', 'INT64'],
  ['tw_output_bytes', 'INT64'],
  ['tw_acted', 'INT64'],
  ['tw_call_id', 'STRING'],
  ['tw_row', 'INT64'],
]

/** Numbers come as texts: as numbers of JavaScript those above 2^53 would be others. */
const SELECTED = COLUMNS.map(([name, type]) => (type === 'INT64' ? `c.${name}::text AS ${name}` : `c.${name}`)).join(', ')
const SIZE = COLUMNS.filter(([, type]) => type === 'STRING')
  .map(([name]) => `coalesce(octet_length(c.${name}), 0)`)
  .join(' + ')

/** About the most bytes that are read at once, and the most rows whose sizes are. */
const WINDOW_BYTES = 4 << 20
const WINDOW_ROWS = 5_000
/** The largest row. Clients give each text as a string, which has at most 512 MB. */
const MAX_ROW_BYTES = 256 << 20
/** The days that have a name of four digits, in milliseconds since 1970. */
const [FIRST_MS, LAST_MS] = [BigInt(Date.parse('0000-01-01')), BigInt(Date.parse('9999-12-31'))]
/** Runs of one file. Their names are kept until it is written. */
const FILE_RUNS = 200_000

export class Archive {
  readonly #session: Session
  readonly #statements: Statements
  readonly #options: Parsed<typeof archiveChecks>
  readonly #files: string[] = []
  readonly #left: string[] = []
  #rows = 0

  constructor(session: Session, statements: Statements, options: Parsed<typeof archiveChecks>) {
    this.#session = session
    this.#statements = statements
    this.#options = { ...options, beforeMs: Math.min(options.beforeMs, Date.now()) }
  }

  async write(): Promise<Archived> {
    const { beforeMs, keep } = this.#options
    if (this.#statements.isByDay && !keep) {
      await makeDays(this.#session, this.#statements)
      for (const day of await oldDays(this.#session, this.#statements, beforeMs)) {
        if (await this.#hasTooLarge(day)) continue
        await removeDay(this.#session, this.#statements, day, beforeMs, (table) => this.#writeDay(day, table))
      }
    }
    await this.#writeRuns()
    return { rows: this.#rows, files: this.#files, left: this.#left }
  }

  /** Whether a day stays, because of a row that no client can read. */
  async #hasTooLarge(day: string): Promise<boolean> {
    const table = `${this.#statements.prefix}${partitionOf(day)}`
    const [there] = await this.#session.ask('SELECT (to_regclass($1::text) IS NOT NULL)::int AS is_there', [table])
    if (Number(there?.['is_there']) !== 1) return false
    const [row] = await this.#session.ask(`SELECT c.run_id FROM ${table} c WHERE ${SIZE} > $1::text::bigint ORDER BY c.tw_row LIMIT 1`, [
      MAX_ROW_BYTES,
    ])
    if (row !== undefined) this.#left.push(`the day ${day}: run ${named(row['run_id'])} has a call of more than ${MAX_ROW_BYTES} bytes`)
    return row !== undefined
  }

  /** A partition that nobody can change any more. */
  async #writeDay(day: string, table: string): Promise<void> {
    let after: string | null = null
    await this.#writeFile(day, async (file) => {
      for (;;) {
        const sizes: readonly SqlRow[] = await this.#session.ask(
          `SELECT c.run_id, c.tw_row::text AS tw_row, ${SIZE} AS size FROM ${table} c
           WHERE $1::text IS NULL OR c.tw_row > $1::text::bigint ORDER BY c.tw_row LIMIT $2::text::bigint`,
          [after, WINDOW_ROWS],
        )
        const last = sizes.at(-1)
        if (last === undefined) return
        after = String(last['tw_row'])
        await this.#copy(table, sizes, file)
      }
    })
  }

  /** Runs one by one: by the day on which they began, a file for each. */
  async #writeRuns(): Promise<void> {
    let [day, runs]: [string, OldRun[]] = ['', []]
    for await (const page of oldRuns(this.#session, this.#statements, this.#options.beforeMs)) {
      for (const run of page) {
        const runDay = dayOf(run)
        if (runDay === undefined) {
          this.#left.push(`run ${named(run.runId)}: its first call began ${run.startedAtMs} ms after 1970, which is no day`)
          continue
        }
        if (runDay !== day || runs.length >= FILE_RUNS) {
          await this.#writeDayOfRuns(day, runs)
          ;[day, runs] = [runDay, []]
        }
        runs.push(run)
      }
    }
    await this.#writeDayOfRuns(day, runs)
  }

  async #writeDayOfRuns(day: string, found: readonly OldRun[]): Promise<void> {
    const runs = await this.#readable(found)
    if (runs.length === 0) return
    const { beforeMs, batchRows, keep } = this.#options
    const { calls, ofRun, isByDay } = this.#statements
    const pages = Array.from({ length: Math.ceil(runs.length / PAGE_RUNS) }, (_, index) =>
      runs.slice(index * PAGE_RUNS, (index + 1) * PAGE_RUNS),
    )
    await this.#writeFile(day, async (file) => {
      for (const page of pages) {
        // Run by run, for the same reason as row by row below.
        const sizes = await this.#session.ask(
          `SELECT c.run_id, c.tw_row::text AS tw_row, c.size, c.day FROM unnest($1::text::text[]) AS r(run_id) CROSS JOIN LATERAL (
             SELECT c.run_id, c.tw_row, ${SIZE} AS size, ${isByDay ? 'c.tw_day::text' : 'NULL'} AS day FROM ${calls} c WHERE ${ofRun('r.run_id')} OFFSET 0) c`,
          [arrayOf(page.map(({ runId }) => runId))],
        )
        await this.#copy(calls, sizes, file)
      }
    })
    if (!keep) for (const page of pages) await removeRuns(this.#session, this.#statements, page, beforeMs, batchRows)
  }

  /** The runs without those that have a row which no client can read. */
  async #readable(runs: readonly OldRun[]): Promise<OldRun[]> {
    const tooLarge = new Set<string>()
    const { calls, ofRun } = this.#statements
    for (let start = 0; start < runs.length; start += PAGE_RUNS) {
      const rows = await this.#session.ask(
        `SELECT r.run_id FROM unnest($1::text::text[]) AS r(run_id) CROSS JOIN LATERAL (
           SELECT max(${SIZE}) AS size FROM ${calls} c WHERE ${ofRun('r.run_id')} OFFSET 0) c WHERE c.size > $2::text::bigint`,
        [arrayOf(runs.slice(start, start + PAGE_RUNS).map(({ runId }) => runId)), MAX_ROW_BYTES],
      )
      for (const row of rows) tooLarge.add(String(row['run_id']))
    }
    for (const runId of tooLarge) this.#left.push(`run ${named(runId)} has a call of more than ${MAX_ROW_BYTES} bytes`)
    return runs.filter(({ runId }) => !tooLarge.has(runId))
  }

  /** Under a name of its own: no archive replaces a file of another one, whose rows are nowhere else. */
  async #writeFile(day: string, fill: (file: ParquetFile) => Promise<void>): Promise<void> {
    const about = { 'toolwright.before_ms': String(this.#options.beforeMs), 'toolwright.journal': this.#session.place }
    const file = await ParquetFile.create(join(this.#options.directory, `day=${day}`, `calls-${randomUUID()}.parquet`), COLUMNS, about)
    try {
      await fill(file)
      await file.finish()
    } catch (error) {
      await file.discard()
      throw error
    }
    this.#files.push(file.path)
  }

  /**
   * Copies rows in windows of a bounded size: one output may be as large as the limit of the journal says. Each row is looked up by itself,
   * so that no plan reads the whole table where it has no statistics.
   */
  async #copy(table: string, sizes: readonly SqlRow[], file: ParquetFile): Promise<void> {
    const isDetached = table !== this.#statements.calls
    let [window, bytes]: [SqlRow[], number] = [[], 0]
    const flush = async (): Promise<void> => {
      const [first] = window
      if (first === undefined) return
      // With the day as it stands, one partition is opened, and once.
      const day = first['day'] ?? null
      const found = `${day === null ? '' : 'c.tw_day = $3::text::date AND '}${isDetached ? '' : 'c.run_id = r.run_id AND '}c.tw_row = r.tw_row`
      const text = `SELECT c.* FROM unnest($1::text::text[], $2::text::bigint[]) AS r(run_id, tw_row)
        CROSS JOIN LATERAL (SELECT ${SELECTED} FROM ${table} c WHERE ${found} OFFSET 0) c`
      const values = [arrayOf(window.map((row) => String(row['run_id']))), arrayOf(window.map((row) => String(row['tw_row'])))]
      const rows = await this.#session.ask(text, day === null ? values : [...values, String(day)])
      await file.add(rows, bytes)
      this.#rows += rows.length
      ;[window, bytes] = [[], 0]
    }
    for (const row of sizes) {
      if (row['day'] !== window[0]?.['day']) await flush()
      window.push(row)
      bytes += Number(row['size']) + 200
      if (bytes >= WINDOW_BYTES || window.length >= WINDOW_ROWS) await flush()
    }
    await flush()
  }
}

/** The day on which a run began; undefined where its time is none that a day has. */
function dayOf({ startedAtMs }: OldRun): string | undefined {
  if (startedAtMs < FIRST_MS || startedAtMs >= LAST_MS) return undefined
  return new Date(Number(startedAtMs)).toISOString().slice(0, 10)
}

/** A name in a message of one line. */
const named = (runId: unknown): string => printableJson(String(runId).slice(0, 200))
