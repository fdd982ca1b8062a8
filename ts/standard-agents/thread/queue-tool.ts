import { ToolError, toolTypeError } from '../../core/errors.js'
import { stringifyArguments } from '../tools/execute-tool.js'
import { checkToolName } from '../tools/tool-definition.js'
import { type CallQueue, newCall } from './pending-call.js'
import { Run } from './run.js'
import { callAround, ownerOf, type RunningCall } from './running-call.js'
import type { ThreadState } from './thread-state.js'

/**
 * Appends a call to the queue. Its result goes into the thread's messages, not to the tool that queues it. It may
 * call any tool of the thread.
 *
 * Inside of a tool, the call is stored together with the tool's result, all or nothing, and belongs to the same
 * run. Elsewhere it is stored and made in the background, and `thread.flush()` waits for it.
 *
 * @param state the owner of the queue; in a sub-prompt, `state.rootState` has the thread's queue
 * @param args @default {}
 * @throws {TypeError} for an invalid state or name, and for arguments without a JSON form.
 * @throws {ToolError} THREAD_NAME_REFUSED for a name that no store accepts, THREAD_QUEUE_LIMIT when one call has led to
 * 1,000 others, THREAD_CLOSED.
 */
export function queueTool(state: ThreadState, name: string, args: Record<string, unknown> = {}): void {
  const { scheduler, queue, running } = ownerOf(state, 'queueTool')
  if (typeof name !== 'string' || name === '') throw toolTypeError('queueTool: the name must be a non-empty string')
  checkToolName('queueTool', name)
  const argumentsJson = stringifyArguments(args, (why, cause) => toolTypeError(`queueTool: the arguments ${why}`, cause))
  scheduler.checkOpen()
  const around = running?.ended === false ? running : callAround(scheduler)
  if (around === undefined) {
    const run = new Run({ ...scheduler.parts.context })
    scheduler.add(newCall({ queue, run, name, argumentsJson, queued: true, number: run.countQueued(name), reject: warn(name) }))
    return
  }
  const { id: parentCallId, inside } = around.call
  const isOwnQueue = queue === around.call.queue
  // The call around a sub-prompt waits for what the sub-prompt queues for itself. What it queues for the
  // thread runs after that call, and belongs to its run.
  const { run } = (isOwnQueue ? undefined : outerCallOf(queue, around))?.call ?? around.call
  const number = run.countQueued(name)
  run.begin()
  const call = { queue, run, name, argumentsJson, queued: true, number, parentCallId }
  around.queued.push(newCall(isOwnQueue ? { ...call, inside } : call))
}

/** The call of a queue that runs around another one. */
function outerCallOf(queue: CallQueue, inner: RunningCall): RunningCall | undefined {
  for (let outer = inner.outer; outer !== undefined; outer = outer.outer) {
    if (!outer.ended && outer.call.queue === queue) return outer
  }
  return undefined
}

function warn(name: string): (error: unknown) => void {
  return (error) => {
    const isClosed = ToolError.isInstance(error) && error.code === 'THREAD_CLOSED'
    if (isClosed || (error instanceof Error && error.name === 'AbortError')) return
    console.warn(`[toolwright] the queued call of ${name} could not be stored:`, error)
  }
}
