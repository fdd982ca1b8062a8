/**
 * All contact with the native addon: loading it, cancelling what it does, and turning its outcomes
 * into values and errors. Nothing else imports `../../index.js`.
 */
import type * as Addon from '../../index.js'
import { settledWithin, Slots } from './abort.js'
import type { ToolErrorCode } from './codes.js'
import { ToolError } from './errors.js'
import { missingHint, unavailable, unsupportedBecause } from './platform.js'

/** The outcomes that have an error and a cancellation beside their values. */
type Legacy = { cancelled?: boolean; error?: Addon.NativeError | undefined; output?: string }

/** What an outcome holds unless it is unfinished. */
type Finished<O> = Exclude<O, Addon.Unfinished>

let loaded: typeof Addon | undefined

/**
 * Loads the addon, on the first call rather than on import: a program that only defines tools of
 * its own, or prints its help text, works everywhere.
 */
async function load(): Promise<typeof Addon> {
  const unsupported = unsupportedBecause(process)
  if (unsupported !== undefined) throw unavailable(unsupported.summary, unsupported.hint)
  try {
    const native = await import('../../index.js')
    // Two concurrent calls may both come here; the first one registers.
    if (loaded === undefined) {
      loaded = native
      // Node notifies the addon of the end of an environment, and Bun does not.
      process.once('exit', () => {
        native.stopCommands()
        for (const one of opened) one.deref()?.closeNow()
      })
    }
    return loaded
  } catch (cause) {
    throw unavailable(
      `The native part of toolwright for ${process.platform} ${process.arch} is not installed`,
      missingHint(import.meta.url),
      cause,
    )
  }
}

/** An abort may come while the addon is loaded, when nothing listens for it yet. */
async function loadUnlessAborted(signal: AbortSignal | undefined): Promise<typeof Addon> {
  const native = await load()
  signal?.throwIfAborted()
  return native
}

/** How a call into the addon is limited. */
export interface CallLimits {
  /** Stops the call. */
  signal?: AbortSignal | undefined
  /** When the call is given up, even if the system hangs. @default no limit */
  timeoutMs?: number | undefined
  /** What is being done, for the message of a timeout. */
  what: string
  /**
   * How long a call that changes something may still report how it ended, after an abort or a
   * timeout. A call that only reads needs none.
   * @default 0
   */
  graceMs?: number | undefined
  /** Called with what an aborted call had printed; the call itself throws the signal's reason. */
  onAborted?: ((output: string) => void) | undefined
}

/** Handles of calls that ended without being stopped, for the next calls. */
const unusedHandles: Addon.CancelHandle[] = []
const MAX_UNUSED = 16

/**
 * Runs `start` with a cancel handle and gives its outcome without error and cancellation.
 *
 * @throws the signal's reason when it was aborted before the work was done.
 * @throws {ToolError} for every other failure.
 */
export async function call<O>(
  limits: CallLimits,
  start: (addon: typeof Addon, cancel: Addon.CancelHandle) => Promise<O>,
): Promise<Finished<O>> {
  limits.signal?.throwIfAborted()
  const native = loaded ?? (await loadUnlessAborted(limits.signal))
  const cancel = unusedHandles.pop() ?? new native.CancelHandle()
  const outcome = await new Promise<O>((resolve, reject) => {
    const watch = watchLimits(limits, cancel, reject)
    const settle = (result: O): void => {
      const wasUsed = watch.release()
      if (!wasUsed && unusedHandles.length < MAX_UNUSED) unusedHandles.push(cancel)
      const { cancelled, output } = outcomeParts(result)
      if (!cancelled) return resolve(result)
      if (output !== undefined) limits.onAborted?.(output)
      reject(watch.reason())
    }
    const fail = (error: unknown): void => {
      watch.release()
      reject(error)
    }
    try {
      start(native, cancel).then(settle, fail)
    } catch (error) {
      fail(error) // an argument that the addon cannot take
    }
  })
  return unwrap(outcome)
}

/**
 * How many searches and changes of files run at once. More would not be faster on any machine, and
 * their results would arrive together and hold up the event loop.
 */
const MAX_CONCURRENT = 8
const slots = new Slots(MAX_CONCURRENT)

/** As {@link call}, in one of a limited number of slots. The time limit does not count the wait for a slot. */
export function callLimited<O>(
  limits: CallLimits,
  start: (addon: typeof Addon, cancel: Addon.CancelHandle) => Promise<O>,
): Promise<Finished<O>> {
  return slots.run(() => call(limits, start), limits.signal)
}

/** How long cached reads may take of one turn of the event loop, so that many reads do not block it. */
const NOWAIT_BUDGET_MS = 2
/** When a turn counts as over even if `setImmediate` has not fired: a test may have replaced the timers. */
const TURN_MS = 10
let current = { beganMs: 0, spentMs: 0 }
let hasNewTurn = false

function newTurn(): void {
  current = { beganMs: performance.now(), spentMs: 0 }
  hasNewTurn = false
}

/**
 * What `look` finds without waiting: a file is in memory, and earlier reads have not used up this turn of the event
 * loop. `undefined` says nothing about the file.
 *
 * @throws the signal's reason when it is aborted.
 */
export function tryNowait<T>(signal: AbortSignal | undefined, look: (addon: typeof Addon) => T | null): T | undefined {
  signal?.throwIfAborted()
  if (loaded === undefined) return undefined
  const beganMs = performance.now()
  if (beganMs - current.beganMs > TURN_MS) newTurn()
  if (current.spentMs > NOWAIT_BUDGET_MS) {
    if (!hasNewTurn) setImmediate(newTurn).unref()
    hasNewTurn = true
    return undefined
  }
  const seen = look(loaded)
  current.spentMs += performance.now() - beganMs
  return seen ?? undefined
}

/** Open files of this environment, which write what is pending when the environment ends. */
const opened = new Set<WeakRef<{ closeNow(): void }>>()

function closeAtExit(file: { closeNow(): void }): void {
  for (const one of opened) if (one.deref() === undefined) opened.delete(one)
  opened.add(new WeakRef(file))
}

/** Opens a journal, and gives its full path. */
export async function openNativeJournal(location: string, options: Addon.JournalOpenOptions) {
  const addon = loaded ?? (await load())
  const native = new addon.NativeJournal()
  const path = unwrap(await native.open(location, options))
  closeAtExit(native)
  return { native, path }
}

/** Opens a store of threads, and gives its full path. */
export async function openNativeThreads(location: string, options: Addon.ThreadStoreOptions) {
  const addon = loaded ?? (await load())
  const native = new addon.NativeThreadStore()
  const path = unwrap(await native.open(location, options))
  closeAtExit(native)
  return { native, path }
}

/** The keys of the calls of one attempt of a task. */
export async function nativeCallKeys(task: Addon.JournalTask): Promise<Addon.CallKeys> {
  const addon = loaded ?? (await load())
  return new addon.CallKeys(task)
}

/** The addon, for the modules of `toolwright/contract`: what they call answers with outcomes as well. */
export async function nativeAddon(): Promise<typeof Addon> {
  return loaded ?? (await load())
}

/** The hash of arguments in JSON. */
export async function nativeArgsHash(json: string): Promise<string> {
  return (loaded ?? (await load())).argsHash(json)
}

/** Whether a call gave no result. */
export function isUnfinished(outcome: unknown): outcome is Addon.Unfinished {
  return typeof outcome === 'object' && outcome !== null && 'isUnfinished' in outcome
}

/** The text of a file as the addon gives it. Buffer's decoder keeps a byte order mark, TextDecoder's default does not. */
export const fileText = (text: string | Buffer): string => (typeof text === 'string' ? text : text.toString('utf8'))

/** Error and cancellation of an outcome of either kind. */
function outcomeParts(outcome: unknown): Legacy {
  if (isUnfinished(outcome)) return { cancelled: outcome.error === undefined, error: outcome.error }
  return typeof outcome === 'object' && outcome !== null ? (outcome as Legacy) : {}
}

/**
 * The result of a call.
 *
 * @throws {ToolError} where there is none.
 */
export function unwrap<O>(outcome: O): Finished<O> {
  const { error } = outcomeParts(outcome)
  if (error !== undefined) throw toToolError(error)
  if (isUnfinished(outcome)) throw aborted()
  return outcome as Finished<O>
}

/** How long a reader that breaks off waits for the command to end. */
const STOP_MS = 2_000

/**
 * Runs a command and yields its output while it runs; returns its outcome.
 *
 * A reader that breaks off stops the command, and waits until it is gone.
 *
 * @throws the signal's reason when it was aborted before the command ended.
 * @throws {ToolError} for every other failure.
 */
export async function* stream(
  limits: CallLimits,
  start: (addon: typeof Addon, cancel: Addon.CancelHandle) => Addon.BashStream,
): AsyncGenerator<Addon.BashEvent, Omit<Addon.BashOutcome, 'cancelled' | 'error'>, undefined> {
  limits.signal?.throwIfAborted()
  const native = loaded ?? (await loadUnlessAborted(limits.signal))
  const cancel = new native.CancelHandle()
  let giveUp: (reason: unknown) => void = () => undefined
  const givenUp = new Promise<never>((_, reject) => {
    giveUp = reject
  })
  givenUp.catch(() => undefined) // it may reject after the race below is over
  const watch = watchLimits(limits, cancel, giveUp)
  let command: Addon.BashStream | undefined
  let ended = false
  try {
    command = start(native, cancel)
    for (;;) {
      const event = await Promise.race([command.next(), givenUp])
      const { outcome } = event
      ended = outcome !== undefined
      if (event.text !== '' || event.cut) yield event
      if (outcome === undefined) continue
      if (outcome.error !== undefined) throw toToolError(outcome.error)
      if (outcome.cancelled) throw watch.reason()
      return outcome
    }
  } finally {
    watch.release()
    if (!ended && command !== undefined) {
      cancel.cancel()
      await settledWithin(drain(command), STOP_MS)
    }
  }
}

/** Reads on until the command has ended. */
async function drain(command: Addon.BashStream): Promise<void> {
  while ((await command.next()).outcome === undefined);
}

/**
 * Calls `giveUp` when the caller no longer waits: after an abort or a timeout, and the grace in which
 * the addon may still report how the work ended.
 */
function watchLimits(limits: CallLimits, cancel: Addon.CancelHandle, giveUp: (reason: unknown) => void) {
  const { signal, timeoutMs, graceMs = 0 } = limits
  let why: unknown
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  const stop = (reason: unknown): void => {
    why ??= reason
    isStopped = true
    cancel.cancel()
    clearTimeout(timer)
    if (graceMs === 0) giveUp(why)
    else timer = setTimeout(() => giveUp(why), graceMs)
  }
  const onAbort = (): void => stop(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  if (timeoutMs !== undefined) timer = setTimeout(() => stop(timedOut(limits.what, timeoutMs)), timeoutMs)
  return {
    reason: () => why ?? aborted(),
    /** Whether the call was stopped. */
    release: (): boolean => {
      signal?.removeEventListener('abort', onAbort)
      clearTimeout(timer)
      return isStopped
    },
  }
}

function aborted(): DOMException {
  return new DOMException('This operation was aborted', 'AbortError')
}

function timedOut(what: string, timeoutMs: number): ToolError {
  const summary = `Command timed out after ${timeoutMs}ms`
  return new ToolError({
    code: 'PROCESS_TIMEOUT',
    summary,
    place: `${summary}: ${what}`,
    hint: 'The file system did not answer in time. Try again, or work with files on another disk.',
    details: { command: what, timeoutMs },
  })
}

function toToolError(error: Addon.NativeError): ToolError {
  return new ToolError({
    code: error.code as ToolErrorCode,
    summary: error.summary,
    hint: error.hint,
    message: error.message,
    details: error.details,
  })
}
