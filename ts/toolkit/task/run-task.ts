import { getToolContext, getToolIdempotencyKey, runWithToolContext, type ToolContext } from '../../journal/calls/context.js'
import {
  abortSignal,
  boolean,
  callable,
  checked,
  type Checks,
  invalid,
  oneOf,
  optional,
  type Parsed,
  parseOptions,
  text,
  wholeNumber,
} from '../../core/options.js'
import { toolChecks } from '../settings.js'
import { eitherSignal, settledWithin, unlessAborted } from '../../core/abort.js'
import { recordToolCallIn } from '../../journal/calls/recorders.js'
import type { Journal } from '../../journal/journal.js'
import type { TaskId, TaskStart, ToolCallRow } from '../../journal/journal-store.js'
import { checkCheckpoints, checkJournal } from '../../journal/checks.js'
import { createTask, effectsThatCount, fingerprintOf, isKeyed, replayUnsafe, type Task, toolSet } from './task.js'
import { type ReplayedCalls, replayOf } from './replay-run.js'
import type { Checkpoints } from '../../journal/checkpoints/checkpoints.js'
import { AttemptFork, effectsOutsideOfForks } from './attempt-fork.js'
import { effectsBesidesFiles, isOfFiles, noteDone, turnOfTask, undoAttempt } from './task-checkpoints.js'
import { TaskRecorder } from '../../journal/calls/task-recorder.js'

/** Options of {@link runTask}. */
export interface RunTaskOptions {
  /** The journal, from `openJournal`, that records calls and has those of earlier attempts. */
  journal: Journal
  /** The run. The same in every attempt. */
  runId: string
  /** The task within the run. The same in every attempt. */
  nodeId: string
  /** The iteration, for a task in a loop. @default 0 */
  iteration?: number | undefined
  /**
   * The number of this attempt, from 1. An attempt that has already made calls continues with their numbers.
   * @default one more than the last that made a call
   */
  attempt?: number | undefined
  /** The directory to which built-in tools are confined. @default that of the surrounding context or of the tools */
  rootDir?: string | undefined
  /** Whether `bash` may reach the network. @default as for `rootDir` */
  allowNetwork?: boolean | undefined
  /** The most bytes that one call returns or takes. @default as for `rootDir` */
  maxOutputBytes?: number | undefined
  /** The time after which `bash` and `grep` are stopped, in milliseconds. @default as for `rootDir` */
  toolTimeoutMs?: number | undefined
  /** Aborts the task: every call in it, and the wait for it. */
  signal?: AbortSignal | undefined
  /**
   * What happens if earlier attempts have left effects that no idempotency key protects. `warn`: the model is warned (see
   * `task.prompt`). `approve`: calls with a side effect fail until `task.approve()`. `refuse`: the attempt does not begin.
   * @default 'warn'
   */
  onReplayUnsafe?: 'warn' | 'approve' | 'refuse' | undefined
  /** An earlier approval: of all effects, or of those of one `fingerprint`. @default false */
  approved?: boolean | string | undefined
  /**
   * `recorded` returns the recorded output of a call that an earlier attempt made and finished, instead of making the call
   * again.
   * @default every call is made
   */
  replay?: 'recorded' | undefined
  /** Checkpoints of the directory that the task works in: what `openCheckpoints` gave. Each attempt is a turn of them. */
  checkpoints?: Checkpoints | undefined
  /**
   * What happens to the files that an earlier attempt has changed and left unfinished. `restore` takes its changes back before `fn` is
   * called, and its writes and edits need no warning; what somebody else has changed since is refused (CHECKPOINT_CONFLICT). Needs
   * `checkpoints`. `fork`: each attempt works in a fork of `rootDir`, which is applied when `fn` has succeeded and thrown away when it has
   * not; where somebody else has changed the same, the attempt fails with FORK_CONFLICT. Built-in tools alone work in it. Needs `rootDir`, here or in the context around,
   * and takes neither `checkpoints` nor `replay`. @default 'keep'
   */
  onRetry?: 'keep' | 'restore' | 'fork' | undefined
  /** Tools of your own, which tell the side effects of rows that older programs wrote. */
  tools?: Readonly<Record<string, unknown>> | undefined
  /** The host's database handle, for tools that look for it. */
  db?: unknown
  /** Called after a tool with a side effect has succeeded. @default a checkpoint, with `checkpoints` */
  durabilitySnapshot?: ToolContext['durabilitySnapshot'] | undefined
}

const taskChecks = {
  journal: checkJournal,
  runId: text,
  nodeId: text,
  iteration: optional(wholeNumber(0), 0),
  attempt: optional(wholeNumber(1)),
  rootDir: toolChecks.rootDir,
  allowNetwork: toolChecks.allowNetwork,
  maxOutputBytes: toolChecks.maxOutputBytes,
  toolTimeoutMs: toolChecks.toolTimeoutMs,
  signal: abortSignal,
  onReplayUnsafe: optional(oneOf('warn', 'approve', 'refuse'), 'warn'),
  approved: optional<boolean | string>((value, name) => (typeof value === 'string' ? value : boolean(value, name)), false),
  replay: optional(oneOf('recorded')),
  checkpoints: optional(checkCheckpoints),
  onRetry: optional(oneOf('keep', 'restore', 'fork'), 'keep'),
  tools: optional(toolSet, {}),
  db: (value) => value,
  durabilitySnapshot: optional(callable<NonNullable<ToolContext['durabilitySnapshot']>>()),
} satisfies Checks<RunTaskOptions>

type TaskOptions = Parsed<typeof taskChecks>

/** How long an ended task waits for its running calls, in milliseconds. */
const SETTLE_MS = 5_000

/**
 * Runs one attempt of a task: provides the context of every tool called in it, records their calls,
 * and warns a later attempt of what earlier ones did.
 *
 * 1. Locks the task: two attempts of it never run at the same time on one journal. An attempt that loses its lock is aborted.
 * 2. Marks calls that dead processes left without an outcome, and collects the effects of earlier attempts.
 * 3. Runs `fn`. Built-in tools, tools of `defineTool` and those of the Smithers engine are recorded.
 * 4. Waits for calls that still run. If they do not end, the task stays locked until they do.
 *
 * @example
 * ```ts
 * await runTask({ journal, runId: 'run-7', nodeId: 'fix-tests', rootDir: './project' }, (task) =>
 *   agent.generate({ prompt: task.prompt('The tests fail. Fix them.'), abortSignal: task.signal }),
 * )
 * ```
 * @returns the result of `fn`.
 * @throws the error of `fn`, or the signal's reason.
 * @throws {ToolError} JOURNAL_TASK_LOCKED while another attempt runs; REPLAY_UNSAFE with
 * `onReplayUnsafe: 'refuse'`; FORK_CONFLICT, FORK_UNAVAILABLE, FORK_FAILED with `onRetry: 'fork'`; INVALID_INPUT; JOURNAL_… if the journal fails before `fn` is called, whatever its `onFailure`,
 * because earlier effects are then unknown.
 */
export async function runTask<T>(options: RunTaskOptions, fn: (task: Task) => T | PromiseLike<T>): Promise<T> {
  const parsed = parseOptions('runTask', options, taskChecks)
  checked('runTask', () => {
    if (typeof fn !== 'function') throw invalid('runTask needs a function as its second argument: what the attempt does.')
    if (parsed.onRetry === 'restore' && parsed.checkpoints === undefined) throw invalid("onRetry: 'restore' needs checkpoints.")
    if (parsed.onRetry === 'fork') checkForked(parsed)
  })
  const { journal, runId, nodeId, iteration, signal } = parsed
  const id: TaskId = { runId, nodeId, iteration }
  signal?.throwIfAborted()
  const replay = replayOf(getToolContext())
  if (replay !== undefined) return replayTask(replay, id, parsed, fn)
  const start = await journal.beginTask(id, parsed.attempt)
  const { lock } = start
  let recorder: TaskRecorder | undefined
  let running: Promise<T> | undefined
  let fork: AttemptFork | undefined
  const stop = new AbortController()
  const release = async (): Promise<void> => {
    await running?.catch(() => undefined)
    // What cannot be thrown away is removed by the next attempt.
    await fork?.end().catch(() => undefined)
    await recorder?.end()
    await lock.release()
  }
  const onLost = (): void => stop.abort(lock.lost.reason)
  lock.lost.addEventListener('abort', onLost, { once: true })
  try {
    lock.lost.throwIfAborted()
    const prepared = await prepare(id, start, parsed, stop.signal)
    recorder = prepared.recorder
    signal?.throwIfAborted()
    if (parsed.onRetry === 'fork') fork = await AttemptFork.open(id, prepared.context as ToolContext & { rootDir: string })
    running = runWithToolContext(prepared.context, async () => {
      const output = await fn(prepared.task)
      await fork?.apply(prepared.task.signal)
      if (parsed.checkpoints !== undefined) await noteDone(parsed.checkpoints, prepared.context)
      return output
    })
    return await unlessAborted(running, eitherSignal(signal, lock.lost))
  } catch (error) {
    stop.abort(error)
    throw error
  } finally {
    lock.lost.removeEventListener('abort', onLost)
    await settledWithin(release(), SETTLE_MS)
  }
}

/** @throws {ToolError} INVALID_INPUT */
function checkForked({ rootDir, checkpoints, replay }: TaskOptions): void {
  const root = rootDir ?? getToolContext()?.rootDir
  if (typeof root !== 'string') throw invalid("onRetry: 'fork' needs rootDir, the directory that is forked.")
  if (checkpoints !== undefined)
    throw invalid("onRetry: 'fork' and checkpoints exclude each other: each attempt begins from the directory.")
  if (replay !== undefined) throw invalid("onRetry: 'fork' and replay exclude each other: recorded calls have changed another fork.")
}

/** An attempt in a replay. It locks nothing and has no effects. */
async function replayTask<T>(replay: ReplayedCalls, id: TaskId, options: TaskOptions, fn: (task: Task) => T | PromiseLike<T>): Promise<T> {
  const { nodeId, iteration } = id
  const attempt = options.attempt ?? replay.nextAttempt(nodeId, iteration)
  const ambient = getToolContext()
  const signal = eitherSignal(eitherSignal(options.signal, ambient?.signal), replay.signal) as AbortSignal
  const earlier = await options.journal.priorEffects({ ...id, runId: replay.runId }, attempt)
  const priorEffects = effectsThatCount(earlier, options.tools)
  const context: ToolContext = { ...ambient, ...id, attempt, signal }
  const idempotencyKey = getToolIdempotencyKey(context) ?? ''
  const { task } = createTask(id, { attempt, signal, idempotencyKey, priorEffects }, [])
  return unlessAborted(
    replay.within(async () => fn(task), context, { nodeId, iteration, attempt }),
    options.signal,
  )
}

async function prepare(id: TaskId, start: TaskStart, options: TaskOptions, stopped: AbortSignal) {
  const { journal, onReplayUnsafe, approved } = options
  const { attempt, last, made } = start
  const recorder = new TaskRecorder(journal, id, attempt)
  const isContinued = last !== undefined && attempt <= last.attempt
  await recorder.prepare(made)
  recorder.replaysRecorded = options.replay === 'recorded'
  const isRestored =
    last !== undefined && !isContinued && (await restoreAttempt(options, { ...id, attempt: last.attempt }, recorder, stopped))
  const allEffects = effectsThatCount(start.priorEffects, options.tools)
  const inForks = options.onRetry === 'fork' ? await effectsOutsideOfForks(allEffects, isOfFiles, { journal, id }) : allEffects
  const priorEffects = isRestored ? effectsBesidesFiles(allEffects) : inForks
  const unsafe = onReplayUnsafe === 'warn' ? [] : priorEffects.filter((effect) => !isKeyed(effect))
  if (unsafe.length > 0 && onReplayUnsafe === 'refuse') throw replayUnsafe(id, attempt, unsafe, 'attempt')
  const toApprove = isApproved(unsafe, approved) ? [] : unsafe
  const ambient = getToolContext()
  const signal = eitherSignal(eitherSignal(options.signal, ambient?.signal), stopped) as AbortSignal
  const context: ToolContext = {
    ...id,
    attempt,
    seq: recorder.seq,
    db: options.db ?? ambient?.db,
    rootDir: options.rootDir ?? ambient?.rootDir,
    allowNetwork: options.allowNetwork ?? ambient?.allowNetwork,
    maxOutputBytes: options.maxOutputBytes ?? ambient?.maxOutputBytes,
    timeoutMs: options.toolTimeoutMs ?? ambient?.timeoutMs,
    durabilitySnapshot: options.durabilitySnapshot ?? snapshotOf(options.checkpoints) ?? ambient?.durabilitySnapshot,
    signal,
    journal,
    recordToolCall: recordToolCallIn(recorder),
  }
  const idempotencyKey = getToolIdempotencyKey(context) ?? ''
  const { task, guard } = createTask(id, { attempt, signal, idempotencyKey, priorEffects }, toApprove)
  recorder.guard = guard
  const turn = turnOfTask(context)
  if (options.checkpoints !== undefined && turn !== undefined) await options.checkpoints.beginTurn(turn, { signal })
  return { recorder, task, context }
}

/** Takes back what the last attempt has changed, as a call of this one. @returns whether the files are as they were before it. */
async function restoreAttempt(
  options: TaskOptions,
  last: TaskId & { attempt: number },
  recorder: TaskRecorder,
  stopped: AbortSignal,
): Promise<boolean> {
  const { checkpoints, onRetry, journal, signal } = options
  if (checkpoints === undefined || onRetry !== 'restore') return false
  const { attempt: _, ...id } = last
  const context: ToolContext = { ...id, attempt: recorder.attempt, seq: recorder.seq, journal, recordToolCall: recordToolCallIn(recorder) }
  const stop = eitherSignal(signal, stopped) as AbortSignal
  return runWithToolContext(context, () => undoAttempt(checkpoints, last, stop))
}

/** The tools of a set with checkpoints take their own. */
const snapshotOf = (checkpoints: Checkpoints | undefined): ToolContext['durabilitySnapshot'] =>
  checkpoints && (async () => void (await checkpoints.checkpoint()))

const isApproved = (unsafe: readonly ToolCallRow[], approved: boolean | string): boolean =>
  approved === true || (typeof approved === 'string' && approved === fingerprintOf(unsafe))
