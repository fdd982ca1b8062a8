import { ToolError } from '../../core/errors.js'
import { runCall } from '../../toolkit/run-call.js'
import { MOST_CHARACTERS } from '../../core/large-values.js'
import { boundedArguments } from '../tools/execution/read-arguments.js'
import { executeTool } from '../tools/execution.js'
import { failure, messageContent, storedRefs, thrownResult } from '../tools/execution/tool-result.js'
import type { CallEnd, NewMessage } from '../store/thread-store.js'
import type { ToolResult } from '../tools/tool-definition.js'
import { aborted, unlessGivenUp } from './aborted.js'
import type { CallQueue } from './call-queue.js'
import { keepAttachments, type KeptResult } from './keep-attachments.js'
import { makeState } from './make-state.js'
import { currentCall, runAs, type RunningCall } from './running-call.js'
import { type Ticket, toStore } from './ticket.js'
import type { ThreadParts } from './thread-parts.js'

/** A failed result, on its way through the recorder of calls. */
class FailedCall extends Error {
  override readonly name = 'FailedToolCall'
  readonly result: ToolResult

  constructor(result: ToolResult) {
    super(result.error ?? 'Tool execution failed')
    this.result = result
  }
}

/**
 * Runs a call that was claimed, and stores its end with everything that belongs to it.
 *
 * @throws what storing it throws.
 */
export async function runTicket(queue: CallQueue, ticket: Ticket, signal: AbortSignal): Promise<void> {
  const { parts } = queue
  const call: RunningCall = { queue, ticket, queued: [], ended: false, outer: undefined }
  const kept = signal.aborted
    ? undefined
    : await ticket.within(() => {
        const around = currentCall()
        call.outer = around?.ended === true ? around.outer : around
        return runAs(call, () => execute(call, signal))
      })
  call.ended = true
  if (signal.aborted || kept === undefined) {
    for (const { run } of call.queued) run.end()
    await discard(parts, kept)
    await finish(parts, ticket, { status: 'cancelled', result: kept?.result ?? failure('aborted') }, [])
    return ticket.failed(aborted(signal.reason))
  }
  await queue.book.inOrder(() => storeEnd(queue, call, kept))
}

/** Stores the end of a call with its attachments and with what it queues, all or nothing. */
async function storeEnd(queue: CallQueue, { ticket, queued: own }: RunningCall, kept: KeptResult): Promise<void> {
  const { parts, book } = queue
  const { result, staged } = kept
  const others = book.takeWaiting()
  const queued = [...others, ...own].sort((a, b) => a.arrival - b.arrival)
  book.markStored(queued)
  try {
    await finish(parts, ticket, { status: result.status, result }, queued, staged)
    queue.begin(queued)
    ticket.ended(result)
  } catch (error) {
    book.putBack(others)
    for (const each of own) book.forget(each)
    if (!isAboutContents(error)) throw error
    // The store does not take all of it as it is; that the call was made is told nevertheless.
    await discard(parts, kept)
    const instead = failure(`The result could not be stored: ${(error as Error).message}`)
    await storeFailure(parts, ticket, instead)
    ticket.ended(instead)
  }
}

async function execute(call: RunningCall, signal: AbortSignal): Promise<KeptResult | undefined> {
  const { ticket, queue } = call
  const { parts } = queue
  const { name, argumentsJson, run, lane } = ticket
  let kept: KeptResult | undefined
  const once = async (): Promise<ToolResult> => {
    const executed = executeTool({
      name,
      tool: Object.hasOwn(parts.tools(), name) ? parts.tools()[name] : undefined,
      argumentsJson,
      tenvs: parts.tenvs,
      stateWith: (tenvs) => {
        const context = lane.context ?? run.context
        const ofCall = { context, tenvs: tenvs ?? parts.tenvs, live: run.live, stopped: () => signal.aborted }
        return makeState(parts, { queue, lane, call }, ofCall, queue.rootState)
      },
    })
    const result = await unlessGivenUp(executed, signal)
    if (result === undefined) throw signal.reason
    kept = await keepAttachments(parts.store, parts.thread.threadId, result, signal)
    if (kept.result.status === 'error') throw new FailedCall(kept.result)
    return kept.result
  }
  try {
    const result = await runCall({
      execute: once,
      // What a tool does nobody knows: it is recorded before it begins.
      metadata: { name, sideEffect: true, idempotent: false, acceptsIdempotencyKey: false, hasRevert: false },
      bound: parts.bound,
      args: recordable(argumentsJson),
      builtIn: false,
      callOptions: { toolCallId: ticket.toolCallId, abortSignal: signal },
    })
    return kept ?? { result: result as ToolResult, staged: [] }
  } catch (error) {
    if (signal.aborted) return kept
    return error instanceof FailedCall && kept !== undefined ? kept : { result: thrownResult(error), staged: [] }
  }
}

interface Ending {
  status: CallEnd['status']
  result: ToolResult
}

async function finish(
  { store, thread }: ThreadParts,
  ticket: Ticket,
  { status, result }: Ending,
  enqueue: Ticket[],
  attachments: string[] = [],
): Promise<void> {
  await store.commit(thread.threadId, {
    finish: { callId: ticket.id, status, resultJson: JSON.stringify(result) },
    attachments,
    messages: status === 'cancelled' ? [] : [resultMessage(ticket, result, ticket.id)],
    enqueue: enqueue.map(toStore),
  })
}

async function discard({ store, thread }: ThreadParts, kept: KeptResult | undefined): Promise<void> {
  if (kept !== undefined && kept.staged.length > 0) await store.discardStaged(thread.threadId, kept.staged)
}

/** A call, as its message tells of it. */
type ToldCall = Pick<Ticket, 'name' | 'toolCallId'> & Partial<Pick<Ticket, 'argumentsJson'>>

/**
 * Stores that a call has failed. Its arguments are left out of the message where the store does not take
 * them once more: a call that cannot be ended would keep all others of its thread from being made.
 */
export async function storeFailure(
  { store, thread }: ThreadParts,
  { id, name, toolCallId, argumentsJson }: Pick<Ticket, 'id' | 'name' | 'toolCallId' | 'argumentsJson'>,
  result: ToolResult,
): Promise<void> {
  const end = async (call: ToldCall): Promise<void> => {
    await store.commit(thread.threadId, {
      finish: { callId: id, status: 'error', resultJson: JSON.stringify(result) },
      messages: [resultMessage(call, result, id)],
    })
  }
  try {
    await end({ name, toolCallId, argumentsJson })
  } catch (error) {
    if (!isAboutContents(error)) throw error
    await end({ name, toolCallId })
  }
}

/** The message that a result becomes in the thread. */
export function resultMessage(call: ToldCall, result: ToolResult, callId?: string): NewMessage {
  const attachments = storedRefs(result)
  const body = JSON.stringify({
    content: messageContent(result),
    toolCallId: call.toolCallId,
    toolName: call.name,
    status: result.status,
    ...(attachments.length === 0 ? {} : { attachments }),
  })
  if (call.argumentsJson === undefined) return { role: 'tool', bodyJson: body, callId }
  // As they were given: what is nested deep enough can be read, and not be written again.
  const args = parsed(call.argumentsJson)
  const argsJson = typeof args === 'string' ? JSON.stringify(args) : call.argumentsJson.trim() || '{}'
  return { role: 'tool', bodyJson: `${body.slice(0, -1)},"args":${argsJson}}`, callId }
}

/** Whether the store was asked for something that it does not take, rather than unable to store. */
function isAboutContents(error: unknown): boolean {
  return ToolError.isInstance(error) && /_TOO_LARGE$|_DUPLICATE_ID$|_NOT_FOUND$|_REFUSED$|^INVALID_INPUT$/u.test(error.code)
}

/** Arguments for a record: as text, where they are too much to be looked into. */
function recordable(json: string): unknown {
  if (json.length > MOST_CHARACTERS) return json
  try {
    return boundedArguments(parsed(json))
  } catch {
    return json
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json.trim() === '' ? '{}' : json)
  } catch {
    return json
  }
}
