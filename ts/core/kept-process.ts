/**
 * A process that runs beyond the call that started it: a server, a shell, a program that asks.
 *
 * It runs behind the same layers as every command. It ends with its owner, with this object and with this program,
 * and nothing that it has started outlives it.
 */
import type * as Addon from '../../index.js'
import { type CallLimits, call, nativeAddon } from './native.js'
import { wholeNumber } from './options.js'

/** What a process reads from and writes to, and how much of its output is kept. */
export interface KeepOptions {
  /** Nothing, a pipe, or a terminal for input and output. @default 'empty' */
  input?: 'empty' | 'pipe' | 'terminal' | undefined
  /** The size of the terminal, in characters. @default { columns: 80, rows: 24 } */
  size?: { columns: number; rows: number } | undefined
  /** Whether stderr is a stream of its own. A terminal has one stream. @default false */
  stderrApart?: boolean | undefined
  /** How much of the beginning of each stream stays in memory. @default 65_536 */
  headBytes?: number | undefined
  /** How much of the end of each stream stays in memory. @default 262_144 */
  tailBytes?: number | undefined
  /**
   * Whether the process has to wait while `tailBytes` of a stream have not been read. Without that, output that nobody
   * reads is forgotten from the middle. @default false
   */
  holds?: boolean | undefined
  /** How much of each stream is kept in a file without a name, from the beginning. @default 0 */
  fileBytes?: number | undefined
  /** Where that file is. @default the system's temporary directory */
  fileDirectory?: string | undefined
}

/** What is told of a process as it happens, for records. */
export interface ProcessObserver {
  /** Its program runs. */
  onStart?: (() => void) | undefined
  /** Input was accepted; it may be secret. */
  onInput?: ((bytes: Uint8Array) => void) | undefined
  /** It has ended, and so has everything that it started. */
  onEnd?: ((end: Addon.KeptProcessEnd) => void) | undefined
}

/** Which part of the output is asked for, and for how long it may be waited for. */
export interface OutputRequest {
  /** @default 'stdout' */
  stream?: 'stdout' | 'stderr' | undefined
  /** A number of bytes from the beginning of the stream. What comes before it need not be kept any longer. @default 0 */
  from?: number | undefined
  /** @default 65_536 */
  maxBytes?: number | undefined
  /** How long to wait for the first byte. @default 0 */
  waitMs?: number | undefined
  signal?: AbortSignal | undefined
}

/** Starts a process in the addon: as a program of the tools, or as a command line of a session. */
export type ProcessStart = (
  addon: typeof Addon,
  keep: Addon.KeepOptions,
  cancel: Addon.CancelHandle,
) => Promise<Addon.KeptProcess | Addon.Unfinished>

/**
 * Starts a process, and gives it when its program runs.
 *
 * @param limits of the start, not of the process.
 * @throws {ToolError} PROCESS_FAILED, TOOL_SANDBOX_UNAVAILABLE, and what else a command may not be started for.
 */
export async function startProcess(
  limits: CallLimits,
  start: ProcessStart,
  options: KeepOptions = {},
  observer: ProcessObserver = {},
): Promise<KeptProcess> {
  const keep = nativeOptions(options)
  const native = await call<Addon.KeptProcess | Addon.Unfinished>(limits, (addon, cancel) => start(addon, keep, cancel))
  observer.onStart?.()
  const { CancelHandle } = await nativeAddon()
  return new KeptProcess(native, () => new CancelHandle(), keep, observer)
}

/** The process that a command has become, whose time was over. */
export async function keptCommand(native: Addon.KeptProcess, options: KeepOptions, observer: ProcessObserver = {}): Promise<KeptProcess> {
  observer.onStart?.()
  const { CancelHandle } = await nativeAddon()
  return new KeptProcess(native, () => new CancelHandle(), nativeOptions(options), observer)
}

/** The options as the addon takes them. */
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

/** How long finding out whether a process waits for input may take on a busy machine. */
const MIN_LOOK_MS = 200

/** A process that is kept. */
export class KeptProcess {
  readonly #native: Addon.KeptProcess
  readonly #handle: () => Addon.CancelHandle
  readonly #observer: ProcessObserver
  readonly #isTerminal: boolean
  /** What is open. Nobody else need hold it. */
  readonly #previews = new Set<Addon.KeptPreview>()

  /** @internal */
  constructor(native: Addon.KeptProcess, handle: () => Addon.CancelHandle, keep: Addon.KeepOptions, observer: ProcessObserver) {
    this.#native = native
    this.#handle = handle
    this.#observer = observer
    this.#isTerminal = keep.input === 'terminal'
    const { onEnd } = observer
    // Unlike a wait, this lets the program end, which ends the process.
    if (onEnd !== undefined) native.onEnd(onEnd)
  }

  /** How it ended, if it has. */
  get end(): Addon.KeptProcessEnd | undefined {
    return this.#native.end() ?? undefined
  }

  get hasTerminal(): boolean {
    return this.#isTerminal
  }

  /**
   * Gives input to the process, and waits until the system has taken it.
   *
   * @returns `false` if the process has closed its input before, or has none.
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

  /** Closes the input after what was given. A terminal gets its key for the end of input, and takes more afterwards. */
  closeInput(): void {
    this.#native.closeInput()
  }

  /** A part of the output. It has no bytes when none came in time. */
  read(request: OutputRequest = {}): Promise<Addon.OutputPiece> {
    const { stream = 'stdout', from = 0, maxBytes = 65_536, waitMs = 0, signal } = request
    return this.#until((cancel) => this.#native.read(stream === 'stderr', from, maxBytes, waitMs, cancel), signal)
  }

  /**
   * A stream from its beginning to its end, as it comes. The process waits for the reader only if its output is held;
   * otherwise a slow reader gets what is still kept.
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

  /** Gives the terminal another size. @returns `false` if there is no terminal. @throws {ToolError} INVALID_INPUT */
  resize(columns: number, rows: number): boolean {
    return this.#native.resize(cells(columns, 'columns'), cells(rows, 'rows'))
  }

  /**
   * Waits until this process listens at a TCP port, as the kernel says; a server of another process does not count.
   *
   * @param port any without one.
   * @returns the port, the lowest where it listens at several and none was named; nothing if the time is over before, or
   * the process has ended.
   * @throws {ToolError} INVALID_INPUT for a number that is no port.
   */
  async ready(options: { port?: number | undefined; waitMs?: number | undefined; signal?: AbortSignal | undefined } = {}) {
    const { port, waitMs = Infinity, signal } = options
    if (port !== undefined) portNumber(port, 'port')
    const ports = await this.#until((cancel) => this.#native.listening(port, waitMs, cancel), signal)
    return port !== undefined && ports !== null ? port : ports?.[0]
  }

  /**
   * Waits until the process waits for input: one that reads its stdin or its terminal blocks there, for a second at
   * least, and nothing of it runs. No output is looked at.
   *
   * @returns `waiting`; `busy` if the time is over before; `unknown` if the kernel does not say; `ended`.
   */
  async waitingForInput(options: { waitMs?: number | undefined; signal?: AbortSignal | undefined } = {}) {
    const { waitMs = Infinity, signal } = options
    // It takes two looks.
    const wait = waitMs > MIN_LOOK_MS ? waitMs : MIN_LOOK_MS
    const state = await this.#until((cancel) => this.#native.inputState(wait, cancel), signal)
    return state ?? ('ended' as const)
  }

  /**
   * Opens an address of this machine that leads to a port of this process: `127.0.0.1` and the port in the result.
   * Everybody on this machine reaches it, until it is closed or the process ends.
   *
   * @returns nothing if the process has ended, or no port is free.
   * @throws {ToolError} INVALID_INPUT for a number that is no port.
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

  /** Sends a signal such as `SIGINT` to the process group of the program. @returns `false` if no signal has this name. */
  signal(name: string): boolean {
    return this.#native.signal(name)
  }

  /** Kills the process and everything that it has started, and waits until all of it is gone. */
  async kill(): Promise<Addon.KeptProcessEnd> {
    this.#native.kill()
    const end = await this.#until((cancel) => this.#native.wait(Infinity, cancel), undefined)
    if (end === null) throw new Error('a wait without a limit has ended')
    return end
  }

  /**
   * Waits for the end.
   *
   * @returns nothing if the time is over before.
   */
  async wait(waitMs = Infinity, signal?: AbortSignal): Promise<Addon.KeptProcessEnd | undefined> {
    return (await this.#until((cancel) => this.#native.wait(waitMs, cancel), signal)) ?? undefined
  }

  /** Waits for the addon, which an abort tells to look round. @throws the signal's reason. */
  async #until<T>(start: (cancel: Addon.CancelHandle) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    signal?.throwIfAborted()
    const cancel = this.#handle()
    const stop = (): void => {
      cancel.cancel()
      this.#native.nudge()
    }
    signal?.addEventListener('abort', stop, { once: true })
    try {
      const found = await start(cancel)
      signal?.throwIfAborted()
      return found
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }
}
