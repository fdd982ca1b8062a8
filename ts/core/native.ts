/**
 * Calls of the native addon: they can be cancelled, and their outcomes become values and errors.
 * `addon.ts` loads the addon.
 */
import type * as Addon from '../../index.js'
import { settledWithin, Slots, type Awaitable } from './abort.js'
import { loadAddon, loadAddonNow } from './addon.js'
import type { ToolErrorCode } from './codes.js'
import { ToolError } from './errors.js'
import { holdCode } from './late-code.js'

/** The value of a finished outcome. */
type Finished<O> = Exclude<O, Addon.Unfinished>

let loaded: typeof Addon | undefined

/**
 * Loads the addon, on the first call rather than on import: a program that only defines tools of
 * its own, or prints its help text, works everywhere.
 */
async function load(): Promise<typeof Addon> {
  return register(await loadAddon())
}

function register(native: typeof Addon): typeof Addon {
  // Two concurrent calls may both get here; the first one registers.
  if (loaded === undefined) {
    loaded = native
    // Node notifies the addon of the end of an environment, and Bun does not.
    process.once('exit', () => {
      native.stopCommands()
      for (const one of opened) one.deref()?.closeNow()
    })
  }
  return loaded
}

/** Checks for an abort that came while the addon was loading. */
async function loadUnlessAborted(signal: AbortSignal | undefined): Promise<typeof Addon> {
  const native = await load()
  signal?.throwIfAborted()
  return native
}

export interface CallLimits {
  /** Stops the call. */
  signal?: AbortSignal | undefined
  /** The time limit, in milliseconds. It ends the call even if the system hangs. @default no limit */
  timeoutMs?: number | undefined
  what: string
  /**
   * How long a call that changes something may still report its outcome after an abort or a timeout, in milliseconds. A call
   * that only reads needs no such time.
   * @default 0
   */
  graceMs?: number | undefined
  /** Called with the output of an aborted call. The call itself throws the signal's reason. */
  onAborted?: ((output: string) => void) | undefined
}

/** Unused cancel handles of ended calls, for later calls. */
const unusedHandles: Addon.CancelHandle[] = []
const MAX_UNUSED = 16

/**
 * Runs `start` with a cancel handle and returns the value of its outcome.
 *
 * @throws the signal's reason after an abort before the end of the work.
 * @throws {ToolError} for every other failure.
 */
export async function call<O>(
  limits: CallLimits,
  start: (addon: typeof Addon, cancel: Addon.CancelHandle) => Promise<O>,
): Promise<Finished<O>> {
  limits.signal?.throwIfAborted()
  const held = holdCode()
  if (held !== undefined) await held
  const native = loaded ?? (await loadUnlessAborted(limits.signal))
  const cancel = unusedHandles.pop() ?? new native.CancelHandle()
  const outcome = await new Promise<O>((resolve, reject) => {
    const watch = watchLimits(limits, cancel, reject)
    const settle = (result: O): void => {
      const wasUsed = watch.release()
      if (!wasUsed && unusedHandles.length < MAX_UNUSED) unusedHandles.push(cancel)
      if (!isUnfinished(result) || result.error !== undefined) return resolve(result)
      if (result.output !== undefined) limits.onAborted?.(result.output)
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
 * How many searches and changes of files run at once. More would not be faster on any machine, and their results would arrive
 * together and block the event loop.
 */
const MAX_CONCURRENT = 8
const slots = new Slots(MAX_CONCURRENT)

/** Does the same as {@link call} in one of a limited number of slots. The time limit does not include the wait for a slot. */
export function callLimited<O>(
  limits: CallLimits,
  start: (addon: typeof Addon, cancel: Addon.CancelHandle) => Promise<O>,
): Promise<Finished<O>> {
  return slots.run(() => call(limits, start), limits.signal)
}

/** The time for cached reads in one turn of the event loop, in milliseconds, so that many reads do not block it. */
const NOWAIT_BUDGET_MS = 2
/** When a turn counts as over even if `setImmediate` has not fired, because a test may have replaced the timers. */
const TURN_MS = 10
let current = { beganMs: 0, spentMs: 0 }
let hasNewTurn = false

function newTurn(): void {
  current = { beganMs: performance.now(), spentMs: 0 }
  hasNewTurn = false
}

/**
 * The result of `look` without waiting: the file is in memory, and earlier reads have not used up this turn of the event
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

/** Open files of this environment. They write pending rows when the environment ends. */
const opened = new Set<WeakRef<{ closeNow(): void }>>()

/** Opens a journal, and returns its full path. */
export async function openNativeJournal(location: string, options: Addon.JournalOpenOptions) {
  const { NativeJournal } = await nativeAddon()
  return openFile(new NativeJournal(), (native) => native.open(location, options))
}

/** Opens a store of threads, and returns its full path. */
export async function openNativeThreads(location: string, options: Addon.ThreadStoreOptions) {
  const { NativeThreadStore } = await nativeAddon()
  return openFile(new NativeThreadStore(), (native) => native.open(location, options))
}

/** Opens the store of checkpoints of a directory, and gives the full path of its file. */
export async function openNativeCheckpoints(root: string, options: Record<string, unknown>) {
  const { NativeCheckpoints } = await nativeAddon()
  return openFile(new NativeCheckpoints(), (native) => native.open(root, options))
}

/** Makes or opens a fork, and gives what it is as JSON. */
export async function openNativeFork(options: Record<string, unknown>) {
  const { NativeFork } = await nativeAddon()
  const { native, path: facts } = await openFile(new NativeFork(), (fork) => fork.open(options))
  return { native, facts }
}

async function openFile<F extends { closeNow(): void }>(native: F, open: (native: F) => Promise<string | Addon.Unfinished>) {
  const path = unwrap(await open(native))
  for (const one of opened) if (one.deref() === undefined) opened.delete(one)
  opened.add(new WeakRef(native))
  return { native, path }
}

export async function nativeCallKeys(task: Addon.JournalTask): Promise<Addon.CallKeys> {
  const { CallKeys } = await nativeAddon()
  return new CallKeys(task)
}

/** The addon, for the modules of `toolwright/contract`, whose calls return outcomes too. */
export async function nativeAddon(): Promise<typeof Addon> {
  await holdCode()
  return loaded ?? (await load())
}

/**
 * Refuses a program that can do nothing without a network.
 *
 * @throws {ToolError} TOOL_NETWORK_DISABLED or TOOL_GIT_REMOTE_DISABLED
 */
export function refuseWithoutNetwork(cmd: string, args: readonly string[], directory: string | undefined, path: string | undefined): void {
  const native = loaded ?? register(loadAddonNow())
  const refusal = native.networkRefusal(cmd, [...args], directory, path)
  if (refusal !== null) throw toToolError(refusal)
}

/** The files that a patch names, without opening them; nothing for an invalid patch. */
export function filesOfPatchNow(patch: string, limitBytes: number): Addon.FileOfPatch[] | undefined {
  const files = loaded?.planPatch(patch, limitBytes)
  return isUnfinished(files) ? undefined : files
}

/** The same, when the addon is not loaded yet either. */
export function filesOfPatch(patch: string, limitBytes: number): Awaitable<Addon.FileOfPatch[] | undefined> {
  if (loaded !== undefined) return filesOfPatchNow(patch, limitBytes)
  return load().then(() => filesOfPatchNow(patch, limitBytes))
}

export async function nativeArgsHash(json: string): Promise<string> {
  return (await nativeAddon()).argsHash(json)
}

export function isUnfinished(outcome: unknown): outcome is Addon.Unfinished {
  return typeof outcome === 'object' && outcome !== null && 'isUnfinished' in outcome
}

/** Decodes a file of the addon. Buffer keeps a byte order mark; TextDecoder's default does not. */
export const fileText = (text: string | Buffer): string => (typeof text === 'string' ? text : text.toString('utf8'))

/**
 * The result of a call.
 *
 * @throws {ToolError} for a failure.
 */
export function unwrap<O>(outcome: O): Finished<O> {
  if (isUnfinished(outcome)) throw outcome.error === undefined ? aborted() : toToolError(outcome.error)
  return outcome as Finished<O>
}

/** How long a reader that stops early waits for the command to end, in milliseconds. */
const STOP_MS = 2_000

/**
 * Runs a command and yields its output while it runs; returns its outcome.
 *
 * A reader that stops early stops the command, and waits until it has ended.
 *
 * @throws the signal's reason after an abort before the end of the command.
 * @throws {ToolError} for every other failure.
 */
export async function* stream(
  limits: CallLimits,
  start: (addon: typeof Addon, cancel: Addon.CancelHandle) => Addon.BashStream,
): AsyncGenerator<Addon.BashEvent, Addon.FinishedCommand, undefined> {
  limits.signal?.throwIfAborted()
  await holdCode()
  const native = loaded ?? (await loadUnlessAborted(limits.signal))
  const cancel = new native.CancelHandle()
  const { promise: givenUp, reject: giveUp } = Promise.withResolvers<never>()
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
      if (!isUnfinished(outcome)) return outcome
      throw outcome.error === undefined ? watch.reason() : toToolError(outcome.error)
    }
  } finally {
    watch.release()
    if (!ended && command !== undefined) {
      cancel.cancel()
      await settledWithin(drain(command), STOP_MS)
    }
  }
}

async function drain(command: Addon.BashStream): Promise<void> {
  while ((await command.next()).outcome === undefined);
}

/**
 * Calls `giveUp` when the caller stops waiting: after an abort or a timeout, and the grace period in which the addon may
 * still report the outcome.
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
