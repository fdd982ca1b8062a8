/** The processes that an agent has started, by the ids that it knows: where all doors start, read, answer and stop them. */
import type * as Addon from '../../../index.js'
import { eitherSignal } from '../abort.js'
import { keptCommand, type KeepOptions, type KeptProcess, type ProcessObserver, type ProcessStart, startProcess } from '../kept-process.js'
import { isUnfinished } from '../native.js'
import { ProcessOwner } from '../process-owner.js'
import { keyInput } from './key-input.js'
import type { ProcessRecord, RecordProcess, TableEntry, UntoldEnd } from './process-entry.js'
import type { ProcessReadArguments, ProcessReport, ProcessStopArguments, ProcessWriteArguments } from './process-report.js'
import {
  hasEnded,
  howItEnded,
  inputClosed,
  inputWaits,
  notFound,
  ofEarlierOwner,
  processName,
  tableClosed,
  tooMany,
} from './process-texts.js'
import { REPORT_BYTES, START_WAIT_MS, WRITE_WAIT_MS } from './process-tools.js'
import { reportOn, written } from './report-on.js'
import { type AwaitedNews, type ProcessFacts, waitForNews } from './wait-for-news.js'

/** How many processes run at once unless the host says otherwise. */
export const MAX_PROCESSES = 32
/** How much of a process's output is in a file, from the beginning. Memory has 320 KiB of it. */
export const OUTPUT_FILE_BYTES = 64_000_000
/** How many processes are remembered after their end. */
const MAX_ENDED = 16
/** The same for those whose end nobody was told of. */
const MAX_UNTOLD = 200
/** How long a start may take, and how long after that it is still cleaned up. */
const START_MS = 30_000
const GRACE_MS = 1_000
/** How long a write waits until the process takes the input. */
const TAKE_MS = 5_000

/** What a table is made with. */
export interface TableOptions {
  maxRunning: number
  /** How many run in all tables that share the limit. @default a counter of its own */
  running?: { count: number } | undefined
  /** The most bytes that the text of one report takes as JSON. */
  maxReportBytes: number
}

/** A command line to start. */
export interface StartRequest {
  command: string
  start: ProcessStart
  keep: KeepOptions
  waitMs?: number | undefined
  /** The most output of the first report. */
  maxBytes?: number | undefined
  /** Ends the call, and the process with it until the call has ended. */
  signal?: AbortSignal | undefined
  /** Ends the process whenever it is aborted. */
  lifetime?: AbortSignal | undefined
  record?: RecordProcess | undefined
}

export class ProcessTable implements AsyncDisposable {
  readonly #owner = new ProcessOwner()
  readonly #entries = new Map<string, TableEntry>()
  readonly #options: TableOptions
  readonly #running: { count: number }
  /** Those whose end is not recorded yet. */
  readonly #living = new Set<TableEntry>()
  readonly #recording = new Set<Promise<void>>()
  #count = 0
  /** Ids up to this number belong to an earlier owner. */
  #earlier = 0
  #isClosed = false

  constructor(options: TableOptions) {
    this.#options = options
    this.#running = options.running ?? { count: 0 }
  }

  /** Has ids begin behind those that an earlier owner gave. */
  continueAfter(count: number): void {
    this.#count = Math.max(this.#count, count)
    this.#earlier = Math.max(this.#earlier, count)
  }

  /**
   * Starts a command line, and waits for what it has to say.
   *
   * @throws {ToolError} PROCESS_LIMIT, PROCESS_FAILED, and what else a command may not be started for. Nothing runs then.
   */
  async start({ waitMs = START_WAIT_MS, maxBytes, ...request }: StartRequest): Promise<ProcessReport> {
    const entry = await this.adopt(request)
    try {
      return await this.#report(entry, waitMs, { port: true }, { maxBytes }, request.signal)
    } catch (error) {
      // Nobody would know its id.
      await entry.process.kill()
      throw error
    }
  }

  /** Starts a command line, which is in the table then. */
  adopt({ command, start, keep, signal, lifetime, record }: StartRequest): Promise<TableEntry> {
    let isOver = false
    const begin: ProcessStart = async (addon, options, cancel) => {
      const started = await start(addon, options, cancel)
      // After an abort nothing else would end it.
      if ((isOver || this.#isClosed || signal?.aborted === true) && !isUnfinished(started)) started.kill()
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
   * Takes over the process that a command has become. What was printed until then counts as told.
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
      native.kill()
      throw error
    }
  }

  /** Counts, records and keeps what `start` gives, unless there are too many. */
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
      const entry = this.#enter({ id, command, process, isStderrApart: keep.stderrApart === true, record })
      const forget = lifetime === undefined ? undefined : killWith(lifetime, process)
      void this.#follow(entry, stopped.promise, forget)
      return entry
    } catch (error) {
      this.#running.count -= 1
      await record?.failed(error)
      throw error
    }
  }

  #enter(known: Pick<TableEntry, 'id' | 'command' | 'process' | 'isStderrApart' | 'record'>): TableEntry {
    const ownedAs = this.#owner.add(known.process)
    const state = { next: { stdout: 0, stderr: 0 }, secrets: [], isInputClosed: false, isEndTold: false, waiters: 0 }
    const entry: TableEntry = { ...known, ownedAs, ...state }
    this.#entries.set(entry.id, entry)
    this.#living.add(entry)
    return entry
  }

  async #follow(entry: TableEntry, stopped: Promise<Addon.KeptProcessEnd>, forget: (() => void) | undefined): Promise<void> {
    const end = await stopped
    forget?.()
    this.#ended(entry, end)
  }

  /** Counts and records an end, once. */
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
   * A part of the output of a process, and how it is. It waits for output, for a question or for the end, or only for one of the last two.
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
    // A report that is full already need not wait for more.
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
   * Gives input to a process, and waits for what it says to it.
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
      // A terminal takes more after its key for the end.
      entry.isInputClosed = !process.hasTerminal
    }
    return this.#report(entry, wait_ms, { port: false, ...(waitsFor === 'output' && { outputFrom: before }) }, { notes, maxBytes }, signal)
  }

  /** Whether the process takes the input in time. What it does not take waits for it. */
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
      // An abort ends the grace, and not the stop.
      await process.wait(grace_ms, signal).catch(() => undefined)
    }
    await process.kill()
    this.#told(entry)
    return this.#report(entry, 0, { port: false }, {}, undefined)
  }

  /** @throws {ToolError} PROCESS_NOT_FOUND */
  hasTerminal(id: string): boolean {
    return this.#find(id).process.hasTerminal
  }

  /** The ends that no report has told of, each once. */
  takeEnds(): UntoldEnd[] {
    const ended: UntoldEnd[] = []
    for (const entry of this.#entries.values()) {
      const { id, command, process, isEndTold, waiters, record } = entry
      // A call that waits for the process tells of its end.
      if (isEndTold || waiters > 0 || process.end === undefined) continue
      entry.isEndTold = true
      ended.push({ id, command, end: process.end, record })
    }
    return ended
  }

  /** Kills all processes, and waits until they are gone. No more are started. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#owner.close()
    // The event of an end can come later than the end.
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
    for (const { id, ownedAs } of forgotten) {
      this.#entries.delete(id)
      this.#owner.release(ownedAs)
    }
  }
}

const noFacts: ProcessFacts = { port: undefined, waitsForInput: false }

/** Kills a process when a signal is aborted. @returns what ends that. */
function killWith(lifetime: AbortSignal, process: KeptProcess): () => void {
  const kill = (): void => void process.kill().catch(() => undefined)
  if (lifetime.aborted) kill()
  else lifetime.addEventListener('abort', kill, { once: true })
  return () => lifetime.removeEventListener('abort', kill)
}

/** A sentence about an end that nobody has asked for. */
export const endSentence = ({ id, command, end }: Pick<UntoldEnd, 'id' | 'command' | 'end'>): string =>
  `The process ${processName(id, command)} ${howItEnded(end)}.`
