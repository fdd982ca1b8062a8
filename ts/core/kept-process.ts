/**
 * A process that outlives the call that started it: a server, a shell, a program that asks.
 *
 * It runs behind the same layers as every command. It ends with its owner, with this object and with this program, and none
 * of its descendants outlives it.
 */
import type * as Addon from '../../index.js'
import { type CallLimits, call, nativeAddon } from './native.js'
import { wholeNumber } from './options.js'

/** Input and output of a process, and how much output is kept. */
export interface KeepOptions {
  /** The input: none, a pipe, or a terminal, which is also the output. @default 'empty' */
  input?: 'empty' | 'pipe' | 'terminal' | undefined
  /** The size of the terminal, in characters. @default { columns: 80, rows: 24 } */
  size?: { columns: number; rows: number } | undefined
  /** Whether stderr is a separate stream. A terminal has one stream. @default false */
  stderrApart?: boolean | undefined
  /** The bytes of each stream's beginning that stay in memory. @default 65_536 */
  headBytes?: number | undefined
  /** The bytes of each stream's end that stay in memory. @default 262_144 */
  tailBytes?: number | undefined
  /**
   * Whether the process blocks while `tailBytes` of a stream are unread. Without this, the middle of unread output is
   * dropped.
   * @default false
   */
  holds?: boolean | undefined
  /** The bytes of each stream, from the beginning, that are kept in a file without a name. @default 0 */
  fileBytes?: number | undefined
  /** The directory of that file. @default the system's temporary directory */
  fileDirectory?: string | undefined
}

/** Receives the events of a process, for records. */
export interface ProcessObserver {
  /** The program has started. */
  onStart?: (() => void) | undefined
  /** The process has accepted input, which may be secret. */
  onInput?: ((bytes: Uint8Array) => void) | undefined
  /** The process and everything that it started have ended. */
  onEnd?: ((end: Addon.KeptProcessEnd) => void) | undefined
}

/** The part of the output to read, and the time to wait for it. */
export interface OutputRequest {
  /** @default 'stdout' */
  stream?: 'stdout' | 'stderr' | undefined
  /** The position in bytes from the beginning of the stream. Earlier output may be dropped. @default 0 */
  from?: number | undefined
  /** @default 65_536 */
  maxBytes?: number | undefined
  /** How long to wait for the first byte, in milliseconds. @default 0 */
  waitMs?: number | undefined
  signal?: AbortSignal | undefined
}

/** Starts a process in the addon: a program of the tools, or a command line of a session. */
export type ProcessStart = (
  addon: typeof Addon,
  keep: Addon.KeepOptions,
  cancel: Addon.CancelHandle,
) => Promise<Addon.KeptProcess | Addon.Unfinished>

/**
 * Starts a process, and returns it when its program runs.
 *
 * @param limits those of the start, not of the process.
 * @throws {ToolError} PROCESS_FAILED, TOOL_SANDBOX_UNAVAILABLE, and other reasons for which a command does not start.
 */
export async function startProcess(
  limits: CallLimits,
  start: ProcessStart,
  options: KeepOptions = {},
  observer: ProcessObserver = {},
): Promise<KeptProcess> {
  const keep = nativeOptions(options)
  let starting: Promise<Addon.KeptProcess | Addon.Unfinished> | undefined
  const native = await call<Addon.KeptProcess | Addon.Unfinished>(limits, (addon, cancel) => (starting = start(addon, keep, cancel))).catch(
    (error: unknown) => {
      // A start that was given up may have succeeded just then. Nothing else would end its process.
      void starting?.then(
        (late) => ('kill' in late ? late.kill() : undefined),
        () => undefined,
      )
      throw error
    },
  )
  observer.onStart?.()
  const { CancelHandle } = await nativeAddon()
  return new KeptProcess(native, () => new CancelHandle(), keep, observer)
}

/** The process of a command that has reached its timeout. */
export async function keptCommand(native: Addon.KeptProcess, options: KeepOptions, observer: ProcessObserver = {}): Promise<KeptProcess> {
  observer.onStart?.()
  const { CancelHandle } = await nativeAddon()
  return new KeptProcess(native, () => new CancelHandle(), nativeOptions(options), observer)
}

/** The options for the addon. */
export function nativeOptions(options: KeepOptions): Addon.KeepOptions {
  const { input = 'empty', size, stderrApart = false, headBytes = 65_536, tailBytes = 262_144 } = options
  const { holds = false, fileBytes = 0, fileDirectory } = options
  return {
    input,
    stderrApart,
    headBytes,
    tailBytes,
    holds,
    fileBytes,
    ...(size === undefined ? {} : { columns: cells(size.columns, 'size.columns'), rows: cells(size.rows, 'size.rows') }),
    ...(fileDirectory === undefined ? {} : { fileDirectory }),
  }
}

/** The width or height of a terminal. */
const cells = wholeNumber(0, 65_535)
const portNumber = wholeNumber(1, 65_535)

/** How long the check whether a process waits for input may take on a busy machine, in milliseconds. */
const MIN_LOOK_MS = 200

/** A long-running process. */
export class KeptProcess {
  readonly #native: Addon.KeptProcess
  readonly #handle: () => Addon.CancelHandle
  readonly #observer: ProcessObserver
  readonly #isTerminal: boolean
  #isEndTold = false
  /** The open previews, which nothing else references. */
  readonly #previews = new Set<Addon.KeptPreview>()

  /** @internal */
  constructor(native: Addon.KeptProcess, handle: () => Addon.CancelHandle, keep: Addon.KeepOptions, observer: ProcessObserver) {
    this.#native = native
    this.#handle = handle
    this.#observer = observer
    this.#isTerminal = keep.input === 'terminal'
    // Unlike a wait, this does not keep the host alive, whose end ends the process.
    if (observer.onEnd !== undefined) native.onEnd((end) => this.#tellEnd(end))
  }

  /**
   * Tells the observer once. Whoever has waited for the end may wait for what the observer does of it, and the addon's own event
   * could come when nothing keeps the host alive any more.
   */
  #tellEnd(end: Addon.KeptProcessEnd): void {
    if (this.#isEndTold) return
    this.#isEndTold = true
    this.#observer.onEnd?.(end)
  }

  /** How the process ended; `undefined` while it runs. */
  get end(): Addon.KeptProcessEnd | undefined {
    return this.#native.end() ?? undefined
  }

  get hasTerminal(): boolean {
    return this.#isTerminal
  }

  /**
   * Writes input to the process, and waits until the system has taken it.
   *
   * @returns `false` if the process has no input, or has closed it.
   */
  async write(input: Uint8Array | string, signal?: AbortSignal): Promise<boolean> {
    signal?.throwIfAborted()
    const bytes = typeof input === 'string' ? Buffer.from(input) : Buffer.from(input.buffer, input.byteOffset, input.byteLength)
    const end = this.#native.write(bytes)
    if (end === null) return false
    this.#observer.onInput?.(bytes)
    const isTaken = await this.#until((cancel) => this.#native.written(end, cancel), signal)
    return isTaken === true
  }

  /** A sentence about secrets that were masked in its output since the last one; `undefined` if there were none. */
  takeMaskNote(): string | undefined {
    return this.#native.takeMasked().note
  }

  /** Closes the files in which its output is. What memory has of it can still be read. */
  closeFiles(): void {
    this.#native.closeFiles()
  }

  /** Closes the input after all writes. A terminal gets its end-of-input key, and takes further input afterwards. */
  closeInput(): void {
    this.#native.closeInput()
  }

  /** A part of the output. It is empty if no output came in time. */
  read(request: OutputRequest = {}): Promise<Addon.OutputPiece> {
    const { stream = 'stdout', from = 0, maxBytes = 65_536, waitMs = 0, signal } = request
    return this.#until((cancel) => this.#native.read(stream === 'stderr', from, maxBytes, waitMs, cancel), signal)
  }

  /**
   * A part of the output in memory of the caller, as much as it holds. Parts of a long stream that are memory of their own
   * wait for the collector: an engine lets tens of megabytes of them gather. Nothing else may use the memory meanwhile.
   */
  readInto(target: Uint8Array, request: Omit<OutputRequest, 'maxBytes'> = {}): Promise<Addon.FilledPiece> {
    const { stream = 'stdout', from = 0, waitMs = 0, signal } = request
    return this.#until((cancel) => this.#native.readInto(stream === 'stderr', target, from, waitMs, cancel), signal)
  }

  /**
   * A stream from its beginning to its end, as it comes. If the process does not block for its reader, a slow reader gets
   * only the output that is still kept.
   */
  async *output(stream: 'stdout' | 'stderr' = 'stdout', signal?: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    let from = 0
    for (;;) {
      // eslint-disable-next-line no-await-in-loop -- one part after the other
      const piece = await this.read({ stream, from, maxBytes: 262_144, waitMs: Infinity, signal })
      if (piece.bytes.length > 0) yield piece.bytes
      if (piece.isEnded) return
      from = piece.at + piece.bytes.length
    }
  }

  /** Resizes the terminal. @returns `false` if there is no terminal. @throws {ToolError} INVALID_INPUT */
  resize(columns: number, rows: number): boolean {
    return this.#native.resize(cells(columns, 'columns'), cells(rows, 'rows'))
  }

  /**
   * Waits until this process listens at a TCP port, by the kernel's report. A server of another process does not count.
   *
   * @param port the port. @default any
   * @returns the port, or the lowest if no port was named; `undefined` after the timeout or the end of the process.
   * @throws {ToolError} INVALID_INPUT for an invalid port number.
   */
  async ready(options: { port?: number | undefined; waitMs?: number | undefined; signal?: AbortSignal | undefined } = {}) {
    const { port, waitMs = Infinity, signal } = options
    if (port !== undefined) portNumber(port, 'port')
    const ports = await this.#until((cancel) => this.#native.listening(port, waitMs, cancel), signal)
    return port !== undefined && ports !== null ? port : ports?.[0]
  }

  /**
   * Waits until the process waits for input: it blocks in reading its stdin or its terminal, for at least a second, and none
   * of its threads runs. The output plays no part.
   *
   * @returns `waiting`; `busy` after the timeout; `unknown` if the kernel does not tell; `ended`.
   */
  async waitingForInput(options: { waitMs?: number | undefined; signal?: AbortSignal | undefined } = {}) {
    const { waitMs = Infinity, signal } = options
    // The answer takes two checks.
    const wait = waitMs > MIN_LOOK_MS ? waitMs : MIN_LOOK_MS
    const state = await this.#until((cancel) => this.#native.inputState(wait, cancel), signal)
    return state ?? ('ended' as const)
  }

  /**
   * Opens an address of this machine that leads to a port of this process: `127.0.0.1` and the port in the result. Everybody
   * on this machine can reach it until it is closed or the process ends.
   *
   * @returns `undefined` if the process has ended, or no port is free.
   * @throws {ToolError} INVALID_INPUT for an invalid port number.
   */
  preview(port: number): { host: '127.0.0.1'; port: number; close(): void } | undefined {
    const preview = this.#native.preview(portNumber(port, 'port'))
    if (preview === null) return undefined
    this.#previews.add(preview)
    const close = (): void => {
      preview.close()
      this.#previews.delete(preview)
    }
    return { host: '127.0.0.1', port: preview.port, close }
  }

  /** Sends a signal such as `SIGINT` to the program's process group. @returns `false` for an unknown name. */
  signal(name: string): boolean {
    return this.#native.signal(name)
  }

  /** Kills the process and everything that it has started, and waits until all have ended. */
  async kill(): Promise<Addon.KeptProcessEnd> {
    this.#native.kill()
    const end = await this.#until((cancel) => this.#native.wait(Infinity, cancel), undefined)
    if (end === null) throw new Error('a wait without a limit has ended')
    this.#tellEnd(end)
    return end
  }

  /**
   * Waits for the end.
   *
   * @returns `undefined` after the timeout.
   */
  async wait(waitMs = Infinity, signal?: AbortSignal): Promise<Addon.KeptProcessEnd | undefined> {
    const end = await this.#until((cancel) => this.#native.wait(waitMs, cancel), signal)
    if (end === null) return undefined
    this.#tellEnd(end)
    return end
  }

  /** Waits for the addon. An abort wakes it. @throws the signal's reason. */
  async #until<T>(start: (cancel: Addon.CancelHandle) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    signal?.throwIfAborted()
    const cancel = this.#handle()
    const stop = (): void => {
      cancel.cancel()
      this.#native.recheck()
    }
    signal?.addEventListener('abort', stop, { once: true })
    try {
      const started = await start(cancel)
      signal?.throwIfAborted()
      return started
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }
}
