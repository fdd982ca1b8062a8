/** An agent's processes by id. All doors start, read, write to and stop processes here. */
import type * as Addon from '../../../index.js'
import { eitherSignal } from '../abort.js'
import { keptCommand, type KeptProcess, type ProcessObserver, type ProcessStart, startProcess } from '../kept-process.js'
import { isUnfinished, nativeAddon } from '../native.js'
import { ProcessOwner } from '../process-owner.js'
import { keyInput } from './key-input.js'
import { giveToOwner, processesOf } from './detached-processes.js'
import { killed, killWith } from './kill.js'
import type { StartRequest } from './start-request.js'
import type { ProcessRecord, TableEntry, UntoldEnd } from './process-entry.js'
import type { ProcessReadArguments, ProcessReport, ProcessStopArguments, ProcessWriteArguments } from './process-report.js'
import {
  hasEnded,
  howItEnded,
  inputClosed,
  inputWaits,
  notFound,
  nothingToWrite,
  ofEarlierOwner,
  processName,
  tableClosed,
  tooMany,
} from './process-texts.js'
import { REPORT_BYTES, START_WAIT_MS, WRITE_WAIT_MS } from './process-tools.js'
import { reportOn, written } from './report-on.js'
import { type AwaitedNews, type ProcessFacts, waitForNews } from './wait-for-news.js'

/** The default limit of running processes. */
export const MAX_PROCESSES = 32
/** The bytes of a process's output, from the beginning, that are kept in a file. Memory has 320 KiB. */
export const OUTPUT_FILE_BYTES = 64_000_000
/** The most ended processes that stay in the table. */
const MAX_ENDED = 16
/** The most ended processes whose end has not been reported. */
const MAX_UNTOLD = 200
/** How long a start may take, and how long it may then take to clean up, in milliseconds. */
const START_MS = 30_000
const GRACE_MS = 3_000
/** How long a write waits for the process to take the input, in milliseconds. */
const TAKE_MS = 5_000

/** Options of a table. */
export interface TableOptions {
  maxRunning: number
  /** The count of running processes, which tables can share. @default a counter of its own */
  running?: { count: number } | undefined
  /** The most bytes of one report's text as JSON. */
  maxReportBytes: number
}

export class ProcessTable implements AsyncDisposable {
  readonly #owner = new ProcessOwner()
  readonly #entries = new Map<string, TableEntry>()
  readonly #options: TableOptions
  readonly #running: { count: number }
  /** Processes whose end is not recorded yet. */
  readonly #living = new Set<TableEntry>()
  readonly #recording = new Set<Promise<void>>()
  #count = 0
  /** Ids up to this number belong to an earlier opening of the session. */
  #earlier = 0
  #isClosed = false

  constructor(options: TableOptions) {
    this.#options = options
    this.#running = options.running ?? { count: 0 }
  }

  /** Starts ids after those of an earlier opening of the session. */
  continueAfter(count: number): void {
    this.#count = Math.max(this.#count, count)
    this.#earlier = Math.max(this.#earlier, count)
  }

  /**
   * Starts a command line, and waits for news of it.
   *
   * @throws {ToolError} PROCESS_LIMIT, PROCESS_FAILED, and other reasons for which a command does not start. Nothing runs then.
   */
  async start({ waitMs = START_WAIT_MS, maxBytes, ...request }: StartRequest): Promise<ProcessReport> {
    const entry = await this.adopt(request)
    try {
      return await this.#report(entry, waitMs, { port: true }, { maxBytes }, request.signal)
    } catch (error) {
      // Kills the process, because the agent would not know its id.
      await entry.process.kill()
      throw error
    }
  }

  /** Starts a command line and adds it to the table. */
  adopt({ command, start, keep, signal, lifetime, record }: StartRequest): Promise<TableEntry> {
    let isOver = false
    const begin: ProcessStart = async (addon, options, cancel) => {
      const started = await start(addon, options, cancel)
      // Nothing else would end the process after an abort.
      if ((isOver || this.#isClosed || signal?.aborted === true) && !isUnfinished(started)) await killed(started, new addon.CancelHandle())
      return started
    }
    const limits = { signal, timeoutMs: START_MS, what: 'process_start', graceMs: GRACE_MS }
    return this.#admit({ command, keep, signal, lifetime, record }, (observer) =>
      startProcess(limits, begin, keep, observer).catch((error: unknown) => {
        isOver = true
        throw error
      }),
    )
  }

  /**
   * Takes over the process of a command that has reached its timeout. Its output so far counts as reported.
   *
   * @throws {ToolError} PROCESS_LIMIT. The process is killed then.
   */
  async take(native: Addon.KeptProcess, request: Omit<StartRequest, 'start' | 'signal'>): Promise<TableEntry> {
    try {
      const entry = await this.#admit(request, (observer) => keptCommand(native, request.keep, observer))
      entry.next.stdout = await written(entry, 'stdout')
      entry.next.stderr = await written(entry, 'stderr')
      return entry
    } catch (error) {
      await killed(native, new (await nativeAddon()).CancelHandle())
      throw error
    }
  }

  /** Counts, records and stores the process of `start`, unless there are too many. */
  async #admit(
    { command, keep, signal, lifetime, record: makeRecord }: Omit<StartRequest, 'start'>,
    start: (observer: ProcessObserver) => Promise<KeptProcess>,
  ): Promise<TableEntry> {
    signal?.throwIfAborted()
    lifetime?.throwIfAborted()
    if (this.#isClosed) throw tableClosed()
    const { maxRunning } = this.#options
    if (this.#running.count >= maxRunning)
      throw tooMany(
        maxRunning,
        this.#names(({ process }) => process.end === undefined),
      )
    this.#running.count += 1
    this.#count += 1
    const id = `p${this.#count}`
    let record: ProcessRecord | undefined
    try {
      record = await makeRecord?.(id, command)
      const stopped = Promise.withResolvers<Addon.KeptProcessEnd>()
      const process = await start({ onEnd: stopped.resolve })
      const letGo = lifetime === undefined ? undefined : killWith(lifetime, process)
      const known = { id, command, process, isStderrApart: keep.stderrApart === true, record, makeRecord, ended: stopped.promise, letGo }
      const entry = this.#enter(known)
      void this.#follow(entry)
      return entry
    } catch (error) {
      this.#running.count -= 1
      await record?.failed(error)
      throw error
    }
  }

  #enter(known: Omit<TableEntry, 'ownedAs' | 'next' | 'secrets' | 'isInputClosed' | 'isEndTold' | 'waiters'>): TableEntry {
    const ownedAs = this.#owner.add(known.process)
    const state = { next: { stdout: 0, stderr: 0 }, secrets: [], isInputClosed: false, isEndTold: false, waiters: 0 }
    const entry: TableEntry = { ...known, ownedAs, ...state }
    this.#entries.set(entry.id, entry)
    this.#living.add(entry)
    return entry
  }

  async #follow(entry: TableEntry): Promise<void> {
    const end = await entry.ended
    entry.letGo?.()
    this.#ended(entry, end)
  }

  /** Records an end once, and updates the count. */
  #ended(entry: TableEntry, end: Addon.KeptProcessEnd): void {
    if (!this.#living.delete(entry)) return
    this.#running.count -= 1
    const recording = entry.record?.ended(end, this.#isClosed)
    if (recording !== undefined) {
      this.#recording.add(recording)
      void recording.finally(() => this.#recording.delete(recording))
    }
    this.#forgetOldest()
  }

  /**
   * Reports on a process, with a part of its output. Waits for output, a question or the end, or only for one of the last two.
   *
   * @throws {ToolError} PROCESS_NOT_FOUND
   */
  async read(request: ProcessReadArguments, signal?: AbortSignal, waitsFor: 'output' | 'end' = 'output'): Promise<ProcessReport> {
    const { process_id, from, stream = 'stdout', max_bytes: maxBytes = REPORT_BYTES, wait_ms = 0 } = request
    const entry = this.#find(process_id)
    const { next, isStderrApart } = entry
    const isOfStderr = stream === 'stderr' && isStderrApart
    const how = { from, stream: isOfStderr ? ('stderr' as const) : ('stdout' as const), maxBytes }
    const isThere = (await written(entry, how.stream)) - (from ?? next[how.stream]) >= maxBytes
    // A full report need not wait for more.
    if (isThere && (from ?? 0) >= 0 && waitsFor === 'output') return this.#report(entry, undefined, { port: false }, how, signal)
    if (waitsFor === 'end') return this.#report(entry, wait_ms, { port: false }, how, signal)
    const news = {
      port: false,
      outputFrom: isOfStderr ? undefined : Math.max(0, from ?? next.stdout),
      stderrFrom: isStderrApart ? Math.max(0, isOfStderr ? (from ?? next.stderr) : next.stderr) : undefined,
    }
    return this.#report(entry, wait_ms, news, how, signal)
  }

  /**
   * Writes input to a process, and waits for its answer.
   *
   * @throws {ToolError} PROCESS_NOT_FOUND, PROCESS_ENDED, PROCESS_BUSY; INVALID_INPUT for a key that needs a terminal.
   */
  async write(
    input: ProcessWriteArguments,
    signal?: AbortSignal,
    waitsFor: 'output' | 'end' = 'output',
    maxBytes?: number,
  ): Promise<ProcessReport> {
    const { process_id, text = '', keys = [], close_input: closes = false, secret = false, wait_ms = WRITE_WAIT_MS } = input
    const entry = this.#find(process_id)
    const { id, command, process } = entry
    if (text === '' && keys.length === 0 && !closes && process.end === undefined) throw nothingToWrite(id)
    const given = keyInput(process, text, keys)
    if (process.end !== undefined) throw this.#endedError(entry, process.end)
    if (entry.isInputClosed && given.text !== '') throw inputClosed(id, command)
    if (secret && text.trim() !== '') entry.secrets.push(text.trim())
    const notes: string[] = []
    const before = await written(entry, 'stdout')
    if (given.text !== '') {
      if (!(await this.#isTaken(entry, '', signal))) throw inputWaits(id, command)
      const isTaken = await this.#isTaken(entry, given.text, signal)
      if (!isTaken) notes.push('The process has not read all of the input yet. It gets the rest when it reads.')
    }
    for (const name of given.signals) process.signal(name)
    if (closes || given.closes) {
      process.closeInput()
      // A terminal takes further input after its end-of-input key.
      entry.isInputClosed = !process.hasTerminal
    }
    return this.#report(entry, wait_ms, { port: false, ...(waitsFor === 'output' && { outputFrom: before }) }, { notes, maxBytes }, signal)
  }

  /** Whether the process takes the input in time. The rest stays queued. */
  async #isTaken({ id, command, process }: TableEntry, text: string, signal: AbortSignal | undefined): Promise<boolean> {
    const late = AbortSignal.timeout(TAKE_MS)
    try {
      if (await process.write(text, eitherSignal(signal, late))) return true
    } catch (error) {
      signal?.throwIfAborted()
      if (late.aborted) return false
      throw error
    }
    const { end } = process
    throw end === undefined ? inputClosed(id, command) : hasEnded(id, command, end)
  }

  /**
   * Ends a process and everything that it has started.
   *
   * @throws {ToolError} PROCESS_NOT_FOUND
   */
  async stop({ process_id, grace_ms = 0 }: ProcessStopArguments, signal?: AbortSignal): Promise<ProcessReport> {
    const entry = this.#find(process_id)
    const { process } = entry
    entry.isEndTold = true
    if (grace_ms > 0 && process.end === undefined) {
      process.signal('SIGTERM')
      // An abort ends the grace period, not the stop.
      await process.wait(grace_ms, signal).catch(() => undefined)
    }
    // A start that follows finds one place more.
    this.#ended(entry, await process.kill())
    this.#told(entry)
    return this.#report(entry, 0, { port: false }, {}, undefined)
  }

  /**
   * Gives a process to an owner that outlives this table. It can still be used here; its end is the owner's.
   *
   * @returns the id by which it is known where it is resumed.
   * @throws {ToolError} PROCESS_NOT_FOUND, PROCESS_ENDED, PROCESS_LIMIT; INVALID_INPUT for the name.
   */
  async detach(processId: string, owner: string): Promise<string> {
    const entry = this.#find(processId)
    if (entry.process.end !== undefined) throw this.#endedError(entry, entry.process.end)
    return giveToOwner(owner, entry, () => {
      if (!this.#living.delete(entry)) return false
      this.#running.count -= 1
      this.#owner.release(entry.ownedAs)
      return true
    })
  }

  /** Has the processes of an owner used here as well. @returns their ids. @throws {ToolError} INVALID_INPUT for the name. */
  resume(owner: string): string[] {
    if (this.#isClosed) throw tableClosed()
    return processesOf(owner).map((detached) => {
      const state = { ownedAs: '', isEndTold: false, waiters: 0, record: undefined, makeRecord: undefined, letGo: undefined }
      if (!this.#entries.has(detached.id)) this.#entries.set(detached.id, { ...detached, ...state })
      return detached.id
    })
  }

  /** @throws {ToolError} PROCESS_NOT_FOUND */
  hasTerminal(id: string): boolean {
    return this.#find(id).process.hasTerminal
  }

  /** The ends that no report has had, each once. */
  takeEnds(): UntoldEnd[] {
    const ended: UntoldEnd[] = []
    for (const entry of this.#entries.values()) {
      const { id, command, process, isEndTold, waiters, record } = entry
      // The call that waits for the process will report its end.
      if (isEndTold || waiters > 0 || process.end === undefined) continue
      entry.isEndTold = true
      ended.push({ id, command, end: process.end, record })
    }
    return ended
  }

  /** Kills all processes, and waits until they have ended. Later starts fail. */
  async close(): Promise<void> {
    this.#isClosed = true
    const all = this.#owner.list()
    await this.#owner.close()
    for (const { process } of all) process.closeFiles()
    // The event of an end can come after the end itself.
    for (const entry of this.#living) if (entry.process.end !== undefined) this.#ended(entry, entry.process.end)
    await Promise.all(this.#recording)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Waits for news of a process, unless there is nothing to wait for, and reports on it. */
  async #report(
    entry: TableEntry,
    waitMs: number | undefined,
    news: AwaitedNews,
    how: { from?: number | undefined; stream?: 'stdout' | 'stderr'; maxBytes?: number | undefined; notes?: string[] },
    signal: AbortSignal | undefined,
  ): Promise<ProcessReport> {
    entry.waiters += 1
    try {
      const facts = waitMs === undefined ? noFacts : await waitForNews(entry.process, waitMs, news, signal)
      const report = await reportOn(entry, facts, { ...how, maxJsonBytes: this.#options.maxReportBytes })
      if (!report.running) this.#told(entry)
      return report
    } finally {
      entry.waiters -= 1
    }
  }

  #find(id: string): TableEntry {
    const entry = this.#entries.get(id)
    if (entry !== undefined) return entry
    const number = /^p(\d{1,9})$/u.exec(id)?.[1]
    if (number !== undefined && Number(number) > 0 && Number(number) <= this.#earlier) throw ofEarlierOwner(id)
    throw notFound(
      id,
      this.#names(() => true),
    )
  }

  #endedError(entry: TableEntry, end: Addon.KeptProcessEnd): Error {
    this.#told(entry)
    return hasEnded(entry.id, entry.command, end)
  }

  #told(entry: TableEntry): void {
    entry.isEndTold = true
    void entry.record?.told()
  }

  #names(is: (entry: TableEntry) => boolean): string[] {
    return [...this.#entries.values()].filter(is).map(({ id, command }) => processName(id, command))
  }

  #forgetOldest(): void {
    const ended = [...this.#entries.values()].filter(({ process }) => process.end !== undefined)
    const told = ended.filter(({ isEndTold }) => isEndTold)
    const forgotten = new Set([...told.slice(0, -MAX_ENDED), ...ended.slice(0, -MAX_UNTOLD)])
    for (const { id, ownedAs, process } of forgotten) {
      this.#entries.delete(id)
      // An owner of its own closes them.
      if (this.#owner.release(ownedAs) !== undefined) process.closeFiles()
    }
  }
}

const noFacts: ProcessFacts = { port: undefined, waitsForInput: false }

/** A sentence about an end that no call waited for. */
export const endSentence = ({ id, command, end }: Pick<UntoldEnd, 'id' | 'command' | 'end'>): string =>
  `The process ${processName(id, command)} ${howItEnded(end)}.`
