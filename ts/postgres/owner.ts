/**
 * This process as an owner of rows: a row of `_toolwright_owners`, with a lease by the server's clock.
 *
 * The row is the fence. An intent is written only while it is there, in the transaction that reads it; whoever takes over
 * deletes it first. The lease only decides when that may happen.
 */
import { hostname } from 'node:os'
import { type StoreLease, storeLeases } from '../journal/store-channels.js'
import { fenced } from './failures.js'
import { MAX_NAMED } from './recovery-statements.js'
import { quoted } from './schema.js'
import { isTrue } from './rows.js'
import { isCode, type Session } from './session.js'

/** One life of an owner: until it is closed, or another process takes over. */
export interface Lease {
  readonly id: number
  /** Aborted when this process may not record any more. */
  readonly lost: AbortSignal
}

interface OpenLease extends Lease {
  readonly abort: AbortController
  /** When it ends, on the monotonic clock of this process, which asked before the server answered. */
  deadlineMs: number
  /** Rows that only this process can complete. */
  readonly open: Set<number>
  /** For every write on its way, the highest number known when it left. */
  readonly floors: Set<{ row: number }>
  /** Rows that are begun from now on have higher ones. */
  highest: number
  /** Whether a row may have been written that nobody here knows of. */
  isUncertain: boolean
  /** The floor of such rows, until they are looked for no longer. */
  unheard: { row: number; untilMs: number } | undefined
  /** How often it has claimed an older row. A heartbeat that crosses such a claim must not forget the row. */
  claims: number
  /** Tasks that it has locked, by their names. */
  readonly tasks: Map<string, number>
}

export class Owner {
  readonly #session: Session
  readonly #table: string
  /** The number of the row that was begun last, in SQL. No lock on the table of calls keeps it from being read. */
  readonly #lastRow: string
  readonly #leaseMs: number
  readonly #label: string | null
  /** Called when somebody has left calls that nobody has marked. */
  readonly #onLeft: () => void
  #lease: OpenLease | undefined
  #opening: Promise<OpenLease> | undefined
  #timer: NodeJS.Timeout | undefined
  #beating: Promise<void> | undefined
  /** Tasks that were locked when a lease ended, until they are locked again. */
  readonly #lostTasks = new Set<string>()

  constructor(session: Session, schema: string, leaseMs: number, label: string | undefined, onLeft = (): void => undefined) {
    this.#onLeft = onLeft
    this.#session = session
    this.#table = `${quoted(schema)}._toolwright_owners`
    this.#lastRow = `coalesce(pg_sequence_last_value('${quoted(schema).replaceAll("'", "''")}._toolwright_rows'), 0)`
    this.#leaseMs = leaseMs
    this.#label = label ?? null
  }

  /** The lease under which something may be begun now. */
  async current(): Promise<Lease> {
    const lease = this.#lease
    if (lease !== undefined && this.#isValid(lease)) return lease
    return (this.#opening ??= this.#open().finally(() => (this.#opening = undefined)))
  }

  /** The same where it takes no waiting. */
  get now(): Lease | undefined {
    const lease = this.#lease
    return lease !== undefined && this.#isValid(lease) ? lease : undefined
  }

  get id(): number | undefined {
    return this.#lease?.id
  }

  async #open(): Promise<OpenLease> {
    const askedMs = performance.now()
    const values = [hostname(), process.pid, this.#label, this.#leaseMs]
    const [row] = await this.#session.run(() => ({
      values,
      text: `INSERT INTO ${this.#table} (host, pid, label, expires_at, rows_after)
       SELECT $1::text, $2::text::bigint, $3::text, clock_timestamp() + $4::text::float8 * interval '1 millisecond',
         ${this.#lastRow}
       RETURNING id, rows_after`,
    }))
    const abort = new AbortController()
    const lease: OpenLease = {
      id: Number(row?.['id']),
      abort,
      lost: abort.signal,
      deadlineMs: askedMs + this.#leaseMs,
      open: new Set(),
      floors: new Set(),
      highest: Number(row?.['rows_after']),
      isUncertain: false,
      unheard: undefined,
      claims: 0,
      tasks: new Map(),
    }
    this.#lease = lease
    this.#tell('opened')
    this.#timer ??= setInterval(() => void this.#beat(), this.#leaseMs / 3).unref()
    return lease
  }

  #isValid(lease: OpenLease): boolean {
    if (lease.lost.aborted) return false
    if (performance.now() < lease.deadlineMs) return true
    this.lose(lease, 'no heartbeat has reached the server for the time of a lease')
    return false
  }

  /** Ends a lease: its tasks are aborted, and may begin nothing until they are locked again. */
  lose(lease: Lease, why: string): void {
    const open = this.#lease
    if (open === undefined || open.id !== lease.id || open.lost.aborted) return
    for (const task of open.tasks.keys()) this.#lostTasks.add(task)
    this.#lease = undefined
    this.#tell('lost')
    open.abort.abort(fenced(this.#session.place, why))
  }

  #tell(event: StoreLease['event']): void {
    if (storeLeases.hasSubscribers) storeLeases.publish({ store: this.#session.place, event } satisfies StoreLease)
  }

  get #beatText(): string {
    const gone = this.#table.replace('_toolwright_owners', '_toolwright_gone')
    return `UPDATE ${this.#table} SET expires_at = clock_timestamp() + $2::text::float8 * interval '1 millisecond',
      rows_after = CASE WHEN claims = $4::text::bigint THEN $3::text::bigint ELSE rows_after END,
      open_rows = CASE WHEN claims = $4::text::bigint THEN $5::text::bigint[] ELSE open_rows END WHERE id = $1::text::bigint
      RETURNING claims, ${this.#lastRow} AS last, EXISTS (SELECT 1 FROM ${gone}) AS is_left`
  }

  #beat(): Promise<void> {
    return (this.#beating ??= this.#heartbeat().finally(() => (this.#beating = undefined)))
  }

  async #heartbeat(): Promise<void> {
    const lease = this.#lease
    if (lease === undefined) return
    const askedMs = performance.now()
    // The end of the lease is noticed even if the server does not answer.
    const end = setTimeout(() => this.#isValid(lease), Math.max(0, lease.deadlineMs - askedMs) + 1).unref()
    try {
      const { after, named } = openRows(lease)
      const [row] = await this.#session.run(
        () => ({ text: this.#beatText, values: [lease.id, this.#leaseMs, after, lease.claims, `{${named.join(',')}}`] }),
        Math.max(0, lease.deadlineMs - askedMs),
      )
      if (row === undefined) return this.lose(lease, 'its lease had ended, and was taken over')
      lease.deadlineMs = askedMs + this.#leaseMs
      // What leaves from now on gets a number above all that were seen.
      lease.highest = Math.max(lease.highest, Number(row['last']))
      // Claims whose answers were lost are not awaited for ever.
      if (lease.floors.size === 0 && lease.unheard === undefined) lease.claims = Number(row['claims'])
      if (isTrue(row['is_left'])) this.#onLeft()
    } catch (error) {
      // Only a row that is gone says that somebody has taken over. Until the lease ends, the next beat may succeed.
      if (isCode(error, 'JOURNAL_OWNER_FENCED')) this.lose(lease, String((error as Error).message))
      else this.#isValid(lease)
    } finally {
      clearTimeout(end)
    }
  }

  /** Notes a write on its way, so that recovery looks far enough back. */
  departs(lease: Lease): () => void {
    const open = this.#lease
    if (open === undefined || open.id !== lease.id) return () => undefined
    const floor = { row: open.highest }
    open.floors.add(floor)
    return () => void open.floors.delete(floor)
  }

  opened(lease: Lease, row: number): void {
    const open = this.#lease
    if (open === undefined || open.id !== lease.id) return
    open.open.add(row)
    open.highest = Math.max(open.highest, row)
  }

  /** The same of a row that was there before. */
  reopened(lease: Lease, row: number): void {
    this.opened(lease, row)
    if (this.#lease?.id === lease.id) this.#lease.claims += 1
  }

  /** Notes a write without an answer: it may still reach the server. */
  uncertain(lease: Lease): void {
    const open = this.#lease
    if (open?.id !== lease.id) return
    open.isUncertain = true
    open.unheard = { row: floorOf(open), untilMs: performance.now() + Math.max(UNHEARD_MS, 2 * this.#leaseMs) }
  }

  /** @returns whether this process makes, or undoes, the call of a row. */
  isOpen(row: number): boolean {
    return this.#lease?.open.has(row) === true
  }

  /** The token of the lock under which this process works on a task. */
  tokenOf(task: string): number | undefined {
    return this.#lease?.tasks.get(task)
  }

  closed(row: number): void {
    this.#lease?.open.delete(row)
  }

  /** @returns whether a task was locked under a lease that has ended, and not again since. */
  hasLost(task: string): boolean {
    return this.#lostTasks.size > 0 && this.#lostTasks.has(task)
  }

  locked(lease: Lease, task: string, token: number): void {
    this.#lostTasks.delete(task)
    if (this.#lease?.id === lease.id) this.#lease.tasks.set(task, token)
    else this.#lostTasks.add(task)
  }

  unlocked(task: string, token: number): void {
    if (this.#lease?.tasks.get(task) === token) this.#lease.tasks.delete(task)
  }

  /** Gives the lease back. Rows without an outcome can be taken over at once. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#opening?.catch(() => undefined)
    await this.#beating?.catch(() => undefined)
    const lease = this.#lease
    if (lease === undefined) return
    this.#lease = undefined
    this.#tell('closed')
    const locks = this.#table.replace('_toolwright_owners', '_toolwright_task_locks')
    const text =
      lease.open.size > 0 || lease.isUncertain
        ? `UPDATE ${this.#table} SET expires_at = clock_timestamp() WHERE id = $1::text::bigint`
        : `WITH gone AS (DELETE FROM ${this.#table} WHERE id = $1::text::bigint RETURNING id)
           DELETE FROM ${locks} l USING gone WHERE l.owner = gone.id`
    await this.#session.ask(text, [lease.id])
  }
}

/** How long what nobody heard of may still arrive. */
const UNHEARD_MS = 65_000

/** What is on its way, or was never heard of, has a higher number. */
function floorOf(lease: OpenLease): number {
  if (lease.unheard !== undefined && lease.unheard.untilMs < performance.now()) lease.unheard = undefined
  let floor = Math.min(lease.highest, lease.unheard?.row ?? Infinity)
  for (const { row } of lease.floors) floor = Math.min(floor, row)
  return floor
}

/** All rows without an outcome come after a number, or are named. */
function openRows(lease: OpenLease): { after: number; named: number[] } {
  const floor = floorOf(lease)
  const below = [...lease.open].filter((row) => row <= floor).sort((a, b) => a - b)
  const [named, next] = [below.slice(0, MAX_NAMED), below[MAX_NAMED]]
  return { after: next === undefined ? floor : next - 1, named }
}

/** The name of a task in this process. */
export const taskName = (runId: string, nodeId: string, iteration: number): string => JSON.stringify([runId, nodeId, iteration])
