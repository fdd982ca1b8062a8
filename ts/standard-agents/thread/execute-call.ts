import { abortError, unlessAborted } from '../../core/abort.js'
import { MAX_CHARACTERS } from '../../core/large-values.js'
import { runCall } from '../../journal/calls/run-call.js'
import { boundedArguments, executeTool, parseArguments } from '../tools/execute-tool.js'
import { failure, thrownResult, type ToolResult } from '../tools/tool-result.js'
import { stageAttachments, type StagedResult } from './attachments.js'
import { isAboutContents, storeEnding, storeFailure } from './call-end.js'
import type { PendingCall } from './pending-call.js'
import { createState, currentCall, type RunningCall, type Scheduler } from './running-call.js'
import { findTool, type ThreadParts } from './thread-parts.js'

/** How long the next call waits for an aborted one, whose tool may never read `state.stopped`. */
const GRACE_MS = 5_000

/** A failed result, on its way through the recorder of calls. */
class FailedCall extends Error {
  override readonly name = 'FailedToolCall'

  constructor(result: ToolResult) {
    super(result.error ?? 'Tool execution failed')
  }
}

/**
 * Runs a claimed call, and stores its end with everything that belongs to it.
 *
 * @throws what storing it throws.
 */
export async function executeCall(scheduler: Scheduler, call: PendingCall, signal: AbortSignal): Promise<void> {
  const { parts } = scheduler
  const running: RunningCall = { scheduler, call, queued: [], ended: false, outer: undefined }
  const staged = signal.aborted
    ? undefined
    : await call.inCallerContext(() => {
        const around = currentCall.getStore()
        running.outer = around?.ended === true ? around.outer : around
        return currentCall.run(running, () => execute(running, signal))
      })
  running.ended = true
  if (signal.aborted || staged === undefined) {
    for (const { run } of running.queued) run.end()
    await discard(parts, staged)
    await storeEnding(parts, call, { status: 'cancelled', result: staged?.result ?? failure('aborted') })
    return call.reject(abortError(signal.reason))
  }
  await scheduler.calls.inOrder(() => storeResult(running, staged))
}

/** Stores a result with its attachments and the calls that it queues, all or nothing. */
async function storeResult({ scheduler, call, queued }: RunningCall, staged: StagedResult): Promise<void> {
  const { parts, calls } = scheduler
  const { result, paths } = staged
  const others = calls.takeUnstored()
  const enqueue = [...others, ...queued].sort((a, b) => a.arrival - b.arrival)
  calls.markStored(enqueue)
  try {
    await storeEnding(parts, call, { status: result.status, result, enqueue, attachments: paths })
    scheduler.begin(enqueue)
    call.resolve(result)
  } catch (error) {
    calls.putBack(others)
    for (const each of queued) calls.forget(each)
    if (!isAboutContents(error)) throw error
    // The store refuses the result; that the call was made is stored nevertheless.
    await discard(parts, staged)
    const refused = failure(`The result could not be stored: ${(error as Error).message}`)
    await storeFailure(parts, call, refused)
    call.resolve(refused)
  }
}

async function execute(running: RunningCall, signal: AbortSignal): Promise<StagedResult | undefined> {
  const { call, scheduler } = running
  const { parts } = scheduler
  const { name, argumentsJson, run, queue } = call
  let staged: StagedResult | undefined
  const executeOnce = async (): Promise<ToolResult> => {
    const executed = executeTool({
      name,
      tool: findTool(parts, name),
      names: () => Object.keys(parts.tools()),
      argumentsJson,
      tenvs: parts.tenvs,
      stateWith: (tenvs) => {
        const context = queue.context ?? run.context
        return createState({ scheduler, queue, running }, { context, tenvs: tenvs ?? parts.tenvs, live: run.live, signal })
      },
    })
    const result = await unlessAborted(executed, signal, GRACE_MS)
    staged = await stageAttachments(parts, result, signal)
    if (staged.result.status === 'error') throw new FailedCall(staged.result)
    return staged.result
  }
  try {
    const result = await runCall({
      door: 'standard-agents',
      execute: executeOnce,
      // The effects of a tool are unknown, so its record begins before it does.
      metadata: { name, sideEffect: true, idempotent: false, acceptsIdempotencyKey: false, hasRevert: false },
      run: parts.run,
      completeContext: (base) => base,
      args: recordable(argumentsJson),
      builtIn: false,
      callOptions: { toolCallId: call.toolCallId, abortSignal: signal },
    })
    return staged ?? { result: result as ToolResult, paths: [] }
  } catch (error) {
    if (signal.aborted) return staged
    return error instanceof FailedCall && staged !== undefined ? staged : { result: thrownResult(error), paths: [] }
  }
}

async function discard({ store, thread }: ThreadParts, staged: StagedResult | undefined): Promise<void> {
  if (staged !== undefined && staged.paths.length > 0) await store.discardStaged(thread.threadId, staged.paths)
}

/** Arguments for a record, or their text when they are too large to look into. */
function recordable(json: string): unknown {
  if (json.length > MAX_CHARACTERS) return json
  try {
    return boundedArguments(parseArguments(json))
  } catch {
    return json
  }
}
