/**
 * Rows on their way to the server. What comes while statements are under way is written together by the next one, so that
 * many callers share a round trip and a wait for the disk.
 */
import { ToolError } from '../core/errors.js'
import { codeOf } from '../core/call-message.js'
import { type StoreWrite, storeWrites } from '../journal/store-channels.js'
import type { SqlRow } from './client.js'
import { callError, duplicate, fenced } from './failures.js'
import { type Lease, type Owner, taskName } from './owner.js'
import { BEGUN_COLUMNS, ENDED_COLUMNS } from './columns.js'
import { isCode, type Parameter, type Session } from './session.js'
import type { Statements } from './statements.js'

export type Columns = Record<string, string | number | null>

export interface Begun {
  row: number
  lease: Lease
}

interface BeginJob {
  kind: 'begin'
  columns: Columns
  bytes: number
  task: string
  /** Written behind: nobody waits for it. */
  isBehind: boolean
  /** The lease under which it may have been written unheard. */
  unheardUnder?: Lease | undefined
  /** When it came; 0 where nobody measures. */
  sinceMs: number
  resolve(begun: Begun): void
  reject(error: unknown): void
}

interface EndJob {
  kind: 'end'
  columns: Columns
  bytes: number
  isBehind: false
  sinceMs: number
  resolve(): void
  reject(error: unknown): void
}

type Job = BeginJob | EndJob

/** The most rows, and about the most bytes, of one statement. */
const MAX_BATCH = 128
const MAX_BATCH_BYTES = 4 << 20
/** How long rows that nobody waits for gather. */
const BEHIND_MS = 10
/** The most rows, and bytes, that wait to be written behind. */
const MAX_BEHIND = 10_000
const MAX_BEHIND_BYTES = 16 << 20
const RETRY_BEHIND_MS = 500

export class Writer {
  readonly #session: Session
  readonly #owner: Owner
  readonly #statements: Statements
  /** More would only lock the owner's row more often at once, which the server takes long for. */
  readonly #writers: number
  /** Called with a beginning that the server may have written, though nobody heard of it. */
  readonly #onUnheard: (columns: Columns, lease: Lease) => void
  #queue: Job[] = []
  #bytes = 0
  #inFlight = 0
  /** Rows on their way to the server. */
  #sent = 0
  #isScheduled = false
  #timer: NodeJS.Timeout | undefined
  #idle: (() => void)[] = []
  #behindError: unknown
  #lost = 0
  #loss: unknown

  constructor(
    session: Session,
    owner: Owner,
    statements: Statements,
    writers: number,
    onUnheard: (columns: Columns, lease: Lease) => void,
  ) {
    this.#onUnheard = onUnheard
    this.#session = session
    this.#owner = owner
    this.#statements = statements
    this.#writers = writers
  }

  begin(columns: Columns): Promise<Begun> {
    return new Promise((resolve, reject) => this.#push({ ...beginJob(columns), isBehind: false, resolve, reject }))
  }

  /** The rows that wait for their turn, or for the server. */
  get queued(): number {
    return this.#queue.length + this.#sent
  }

  /** Writes a call that is over a little later. Waits where too much waits already. */
  async behind(columns: Columns): Promise<void> {
    const job = beginJob(columns)
    if (this.#queue.length >= MAX_BEHIND || this.#bytes + job.bytes > MAX_BEHIND_BYTES) {
      await this.begin(columns)
      return
    }
    const giveUp = (error: unknown): void => {
      this.#lost += 1
      this.#loss ??= error
    }
    this.#push({ ...job, isBehind: true, resolve: () => undefined, reject: giveUp })
  }

  end(columns: Columns): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#push({ kind: 'end', columns, bytes: bytesOf(columns), isBehind: false, sinceMs: measuredNow(), resolve, reject })
    })
  }

  /** Waits until what is queued now has been written, or could not be. */
  async settle(): Promise<void> {
    if (this.#queue.length === 0 && this.#inFlight === 0) return
    this.#behindError = undefined
    this.#pump(true)
    if (this.#queue.length > 0 || this.#inFlight > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  /** @throws {ToolError} JOURNAL_UNREACHABLE while rows wait, JOURNAL_ROWS_LOST when some can never be written. */
  async flush(isLast = false): Promise<void> {
    await this.settle()
    if (isLast) {
      clearTimeout(this.#timer)
      for (const job of this.#queue.splice(0)) job.reject(this.#behindError)
    } else if (this.#queue.length > 0 && this.#behindError !== undefined) throw this.#behindError
    if (this.#lost === 0) return
    const [rows, cause] = [this.#lost, this.#loss]
    this.#lost = 0
    this.#loss = undefined
    const summary = 'Calls without side effects were not recorded'
    throw new ToolError({
      code: 'JOURNAL_ROWS_LOST',
      summary,
      place: `${summary}: ${rows} rows for \`${this.#session.place}\`, ${String((cause as Error | undefined)?.message)}`,
      hint: 'Remove the cause; calls with side effects are not concerned.',
      details: { path: this.#session.place, rows },
      cause,
    })
  }

  #push(job: Job): void {
    this.#queue.push(job)
    this.#bytes += job.bytes
    if (job.isBehind) {
      this.#timer ??= setTimeout(() => this.#pump(true), this.#behindError === undefined ? BEHIND_MS : RETRY_BEHIND_MS)
      return
    }
    if (this.#isScheduled) return
    this.#isScheduled = true
    // Calls that begin in the same turn are written together.
    queueMicrotask(() => {
      this.#isScheduled = false
      this.#pump(false)
    })
  }

  #pump(includesBehind: boolean): void {
    if (includesBehind) {
      clearTimeout(this.#timer)
      this.#timer = undefined
    }
    while (this.#inFlight < this.#writers && this.#queue.length > 0) {
      if (!includesBehind && this.#queue.every(({ isBehind }) => isBehind)) break
      const jobs = this.#take()
      this.#inFlight += 1
      void this.#writeOne(jobs)
    }
  }

  async #writeOne(jobs: Job[]): Promise<void> {
    this.#sent += jobs.length
    await this.#write(jobs)
    this.#inFlight -= 1
    this.#sent -= jobs.length
    this.#pump(this.#idle.length > 0 && this.#behindError === undefined)
    const isDone = this.#inFlight === 0 && (this.#queue.length === 0 || this.#behindError !== undefined)
    if (isDone) for (const resume of this.#idle.splice(0)) resume()
  }

  #take(): Job[] {
    let [count, bytes] = [0, 0]
    while (count < this.#queue.length && count < MAX_BATCH && (count === 0 || bytes < MAX_BATCH_BYTES)) {
      bytes += this.#queue[count]?.bytes ?? 0
      count += 1
    }
    const jobs = this.#queue.splice(0, count)
    this.#bytes -= bytes
    return jobs
  }

  /** Writes jobs. It never rejects: each job gets its result. */
  async #write(jobs: Job[]): Promise<void> {
    const begins: BeginJob[] = []
    const ends: EndJob[] = []
    for (const job of jobs) {
      if (job.kind === 'end') ends.push(job)
      else if (this.#owner.hasLost(job.task)) job.reject(fenced(this.#session.place, 'the lock of the task was lost'))
      else begins.push(job)
    }
    let lease: Lease | undefined
    if (begins.length > 0) {
      try {
        lease = this.#owner.now ?? (await this.#owner.current())
      } catch (error) {
        for (const job of begins.splice(0)) this.#failed(job, error)
      }
    }
    if (begins.length + ends.length > 0) await this.#send(begins, ends, lease)
  }

  async #send(begins: BeginJob[], ends: EndJob[], lease: Lease | undefined): Promise<void> {
    const { owner, arrived } = { owner: this.#owner, arrived: lease && this.#owner.departs(lease) }
    let wasTried = false
    try {
      const rows = await this.#measured([...begins, ...ends], () =>
        this.#session.run((again) => {
          wasTried = again
          return this.#statement(begins, ends, lease)
        }),
      )
      const numbers = placed(rows, begins.length + ends.length)
      for (const [index, job] of begins.entries()) {
        const row = numbers[index] ?? (await this.#explainBegin(job, lease as Lease, wasTried))
        if (row === undefined) continue
        if (job.columns['status'] === 'started') owner.opened(lease as Lease, row)
        job.resolve({ row, lease: lease as Lease })
      }
      for (const [index, job] of ends.entries()) {
        if (numbers[begins.length + index] !== undefined) job.resolve()
        else await this.#explainEnd(job, wasTried)
      }
    } catch (error) {
      if (wasTried || isCode(error, 'JOURNAL_UNREACHABLE')) for (const job of begins) job.unheardUnder = lease
      await this.#recoverFrom(error, begins, ends, lease)
    } finally {
      arrived?.()
    }
  }

  /** Tells those who measure how long a statement took. */
  async #measured<T>(jobs: readonly Job[], send: () => Promise<T>): Promise<T> {
    if (!storeWrites.hasSubscribers) return send()
    const began = performance.now()
    // A job that came before somebody measured has not waited, as far as anybody knows.
    const since = Math.min(began, ...jobs.map(({ sinceMs }) => sinceMs).filter((time) => time > 0))
    const publish = (code: string | undefined): void => {
      const durationMs = performance.now() - began
      storeWrites.publish({ store: this.#session.place, rows: jobs.length, queuedMs: began - since, durationMs, code } satisfies StoreWrite)
    }
    try {
      const answer = await send()
      publish(undefined)
      return answer
    } catch (error) {
      publish(codeOf(error))
      throw error
    }
  }

  #statement(begins: BeginJob[], ends: EndJob[], lease: Lease | undefined) {
    const { begin, finish, beginMany, finishMany, both, isByDay } = this.#statements
    const [first, last] = [begins[0], ends[0]]
    if (!isByDay && begins.length === 1 && ends.length === 0 && first !== undefined) {
      return { ...begin, values: [lease?.id, ...BEGUN_COLUMNS.map(([name]) => first.columns[name])] as Parameter[] }
    }
    if (!isByDay && ends.length === 1 && begins.length === 0 && last !== undefined) {
      return { ...finish, values: ENDED_COLUMNS.map(([name]) => last.columns[name]) as Parameter[] }
    }
    const begun = JSON.stringify(begins.map(({ columns }, place) => ({ place, ...columns })))
    const ended = JSON.stringify(ends.map(({ columns }, index) => ({ place: begins.length + index, ...columns })))
    if (ends.length === 0) return { ...beginMany, values: [lease?.id, begun] }
    if (begins.length === 0) return { ...finishMany, values: [ended] }
    return { ...both, values: [lease?.id, begun, ended] }
  }

  /** After a statement that failed as a whole: outcomes do not need the lease, and one bad row must not fail the others. */
  async #recoverFrom(error: unknown, begins: BeginJob[], ends: EndJob[], lease: Lease | undefined): Promise<void> {
    if (isCode(error, 'JOURNAL_OWNER_FENCED') && lease !== undefined) {
      this.#owner.lose(lease, 'its lease had ended, and was taken over')
      for (const job of begins) this.#failed(job, error)
      if (ends.length > 0) await this.#send([], ends, undefined)
      return
    }
    const jobs = [...begins, ...ends]
    if (lease !== undefined && isCode(error, 'JOURNAL_UNREACHABLE')) this.#owner.uncertain(lease)
    if (jobs.length === 1 || isCode(error, 'JOURNAL_UNREACHABLE', 'JOURNAL_READ_ONLY', 'JOURNAL_DISK_FULL')) {
      for (const job of jobs) this.#failed(job, error)
      return
    }
    for (const job of begins) await this.#send([job], [], lease)
    for (const job of ends) await this.#send([], [job], undefined)
  }

  #failed(job: Job, error: unknown): void {
    if (job.kind === 'begin' && job.unheardUnder !== undefined && job.columns['status'] === 'started') {
      this.#onUnheard(job.columns, job.unheardUnder)
    }
    if (!job.isBehind || !isCode(error, 'JOURNAL_UNREACHABLE')) return job.reject(error)
    // Nobody waits for it, so it may wait for the server.
    this.#behindError = error
    this.#queue.unshift(job)
    this.#bytes += job.bytes
    this.#timer ??= setTimeout(() => {
      this.#behindError = undefined
      this.#pump(true)
    }, RETRY_BEHIND_MS).unref()
  }

  /** Why a row was not written. @returns its number, if it is there after all; otherwise the job has its error. */
  async #explainBegin(job: BeginJob, lease: Lease, wasTried: boolean): Promise<number | undefined> {
    const { columns } = job
    const key = ['run_id', 'node_id', 'iteration', 'attempt', 'seq'].map((name) => columns[name])
    try {
      const [found] = await this.#session.ask(
        `SELECT tw_row, tw_owner, started_at_ms FROM ${this.#statements.calls} WHERE run_id = $1::text AND node_id = $2::text
           AND iteration = $3::text::bigint AND attempt = $4::text::bigint AND seq = $5::text::bigint`,
        key,
      )
      if (found !== undefined) {
        const isOurs = Number(found['tw_owner']) === lease.id && Number(found['started_at_ms']) === columns['started_at_ms']
        if (wasTried && isOurs) return Number(found['tw_row'])
        job.reject(duplicate(this.#session.place, columns))
        return undefined
      }
      const [owner] = await this.#session.ask(
        `SELECT 1 AS is_there FROM ${this.#statements.prefix}_toolwright_owners WHERE id = $1::text::bigint`,
        [lease.id],
      )
      if (owner === undefined) {
        this.#owner.lose(lease, 'its lease had ended, and was taken over')
        throw fenced(this.#session.place, 'the lease of this process has ended')
      }
      // Another row has the token, which is unique in the table: it is kept together with the place of the call.
      columns['call_token'] = `${columns['call_token']} ${JSON.stringify(key)}`
      await this.#send([job], [], lease)
    } catch (error) {
      this.#failed(job, error)
    }
    return undefined
  }

  async #explainEnd(job: EndJob, wasTried: boolean): Promise<void> {
    const { columns } = job
    try {
      const [found] = await this.#session.ask(
        `SELECT status, tw_owner, started_at_ms, finished_at_ms FROM ${this.#statements.calls} WHERE tw_row = $1::text::bigint`,
        [columns['number']],
      )
      const row = columns['number']
      if (found === undefined) throw callError('JOURNAL_CALL_MISSING', 'Call is not in the journal', row, this.#session.place)
      if (Number(found['tw_owner']) !== columns['owner'] || Number(found['started_at_ms']) !== columns['start']) {
        throw fenced(this.#session.place, `another process has claimed row ${row}`)
      }
      const isOurs = found['status'] === columns['status'] && Number(found['finished_at_ms']) === columns['finished_at_ms']
      if (wasTried && isOurs) return job.resolve()
      throw callError('JOURNAL_CALL_FINISHED', `Call already has its outcome, ${String(found['status'])}`, row, this.#session.place)
    } catch (error) {
      this.#failed(job, error)
    }
  }
}

/** The numbers of rows by the places of their jobs. The answer of a single row has no place. */
function placed(rows: readonly SqlRow[], count: number): (number | undefined)[] {
  const numbers: (number | undefined)[] = Array.from({ length: count })
  for (const { place = 0, number } of rows) numbers[Number(place)] = Number(number)
  return numbers
}

/** The time, where somebody measures. */
const measuredNow = (): number => (storeWrites.hasSubscribers ? performance.now() : 0)

function beginJob(columns: Columns) {
  const task = taskName(String(columns['run_id']), String(columns['node_id']), Number(columns['iteration']))
  return { kind: 'begin' as const, columns, task, bytes: bytesOf(columns), sinceMs: measuredNow() }
}

function bytesOf(columns: Columns): number {
  let bytes = 200
  for (const value of Object.values(columns)) if (typeof value === 'string') bytes += value.length
  return bytes
}
