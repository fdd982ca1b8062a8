import { ToolError, toolTypeError } from '../../core/errors.js'
import { boundedArguments } from '../tools/execution/read-arguments.js'
import { checkToolName } from '../tools/check-tool-name.js'
import type { ThreadState } from './thread-state.js'
import type { Lane } from './lane.js'
import { callAround, homeOf, type RunningCall } from './running-call.js'
import { Run } from './run.js'
import { newTicket } from './ticket.js'

/**
 * Queues a call: it is made after those that are queued already, and its result goes into the thread's
 * messages, not to the tool that queues it. A queued call may be of any tool of the thread.
 *
 * Inside of a tool the call is stored together with the tool's result, all or nothing, and belongs to the
 * same run; elsewhere it is stored and made in the background (`thread.flush()` waits for it).
 *
 * @param state whose queue: in a sub-prompt, `state.rootState` for that of the thread
 * @param args @default {}
 * @throws {TypeError} for what is no state, no name, or has no JSON.
 * @throws {ToolError} THREAD_NAME_REFUSED for a name that no store takes, THREAD_QUEUE_LIMIT when one call has led to
 * 1,000 others, THREAD_CLOSED.
 */
export function queueTool(state: ThreadState, name: string, args: Record<string, unknown> = {}): void {
  const { queue, lane, call } = homeOf(state, 'queueTool')
  if (typeof name !== 'string' || name === '') throw toolTypeError('queueTool: the name must be a non-empty string')
  checkToolName('queueTool', name)
  const argumentsJson = jsonOf(args)
  queue.checkOpen()
  const around = call?.ended === false ? call : callAround(queue)
  if (around === undefined) {
    const run = new Run({ ...queue.parts.context })
    queue.add(newTicket({ lane, run, name, argumentsJson, queued: true, number: run.countQueued(name), failed: warn(name) }))
    return
  }
  const { id: parentCallId, inside } = around.ticket
  const isOwnLane = lane === around.ticket.lane
  // What a sub-prompt queues for itself is awaited by the call that it is inside of; what it queues for
  // the thread belongs to that call, because it is made after it.
  const { run } = (isOwnLane ? undefined : callOf(lane, around))?.ticket ?? around.ticket
  const number = run.countQueued(name)
  run.begin()
  const ticket = { lane, run, name, argumentsJson, queued: true, number, parentCallId }
  around.queued.push(newTicket(isOwnLane ? { ...ticket, inside } : ticket))
}

function jsonOf(args: unknown): string {
  try {
    const json = JSON.stringify(boundedArguments(args)) as string | undefined
    if (json !== undefined) return json
  } catch (error) {
    throw toolTypeError(`queueTool: the arguments have no JSON form: ${error instanceof Error ? error.message : String(error)}`, error)
  }
  throw toolTypeError('queueTool: the arguments must have a JSON form')
}

/** The call of a lane that runs around another one. */
function callOf(lane: Lane, inner: RunningCall): RunningCall | undefined {
  for (let call = inner.outer; call !== undefined; call = call.outer) {
    if (!call.ended && call.ticket.lane === lane) return call
  }
  return undefined
}

function warn(name: string): (error: unknown) => void {
  return (error) => {
    if ((ToolError.isInstance(error) && error.code === 'THREAD_CLOSED') || isAbort(error)) return
    console.warn(`[toolwright] the queued call of ${name} could not be stored:`, error)
  }
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError'
