import type { Tool } from 'ai'
import { settledWithin, unlessAborted } from '../core/abort.js'
import { ToolError } from '../core/errors.js'
import {
  abortSignal,
  anything,
  callable,
  checked,
  type Checks,
  invalid,
  oneOf,
  optional,
  parseOptions,
  positive,
  text,
} from '../core/options.js'
import { getToolContext, runWithToolContext, type ToolContext } from '../journal/calls/context.js'
import type { StartingCall } from '../journal/calls/call-record.js'
import { recordToolCallIn } from '../journal/calls/recorders.js'
import { sameInEveryExecution } from '../journal/calls/recorded-values.js'
import { isIterable } from '../journal/calls/run-call.js'
import { checkJournal } from '../journal/checks.js'
import type { Journal } from '../journal/journal.js'
import { getDefinedToolMetadata } from '../toolkit/define-tool.js'
import { ClaimRecorder } from './claim-recorder.js'
import type { RunObject } from './run-objects.js'
import { unreadable } from './undecided-calls.js'
import { STALE_AFTER_MS, type UnknownCallOptions } from './unknown-calls.js'

/** One call of a tool, for {@link callOnce}. */
export interface OnceCall extends UnknownCallOptions {
  /** The run, the same in every execution: the id of a workflow. */
  runId: string
  /** The task within the run. @default 'agent' */
  nodeId?: string | undefined
  /** The identity of the call in its task, the same in every execution: the `toolCallId` of a model's answer that the engine keeps. */
  callId: string
  /** A tool of `defineTool`, of `createTools`, or a plain one of the AI SDK, which counts as having a side effect. */
  tool: unknown
  /** The name of a plain tool in the record. @default 'tool' */
  toolName?: string | undefined
  input: unknown
  /** Ends the call, and the wait for another process that makes it. A tool that goes on all the same is not waited for. */
  signal?: AbortSignal | undefined
  /** Further options of the AI SDK's call for the tool: `messages`, `context`, … */
  options?: Readonly<Record<string, unknown>> | undefined
  /** Called with each value that a generator yields, while the call is made. */
  onProgress?: ((value: unknown) => void) | undefined
  /**
   * Makes the engine's own error of one that every further execution would get as well, so that the engine does not try again:
   * `(error) => new TerminalError(error.message)`. @default the error itself
   */
  finalError?: ((error: Error) => unknown) | undefined
}

const onceChecks = {
  runId: text,
  nodeId: optional(text, 'agent'),
  callId: text,
  tool: anything<unknown>(),
  toolName: optional(text, 'tool'),
  input: anything<unknown>(),
  signal: abortSignal,
  onUnknown: optional(oneOf('tell', 'fail', 'approve'), 'tell'),
  approve: optional(callable<NonNullable<UnknownCallOptions['approve']>>()),
  staleAfterMs: optional(positive(), STALE_AFTER_MS),
  options: anything<Readonly<Record<string, unknown>> | undefined>(),
  onProgress: optional(callable<NonNullable<OnceCall['onProgress']>>()),
  finalError: optional(callable<NonNullable<OnceCall['finalError']>>()),
} satisfies Checks<OnceCall>

/** How long an aborted tool may take to end. */
const GRACE_MS = 500

/**
 * Makes one call of a tool, in whatever a durable engine executes again: a step, an activity, a job. Of any number of executions, in
 * any process, one makes the call, and all get its result.
 *
 * @example
 * ```ts
 * const result = await callOnce(journal, { runId, callId: toolCallId, tool: charge, input })
 * ```
 * @returns the result of the tool, or the recorded one; of a generator, the last value.
 * @throws the error of the tool, or the recorded one.
 * @throws {ToolError} OUTCOME_UNKNOWN; REPLAY_DIFFERS; REPLAY_INCOMPLETE; INVALID_INPUT; JOURNAL_… before the call is made.
 */
export async function callOnce(journal: Journal, call: OnceCall): Promise<unknown> {
  return makeOnce(journal, call)
}

/**
 * @param object the `durable()` object that makes the call
 * @param form what every execution gets of an output. It may read all of it.
 */
export async function makeOnce(journal: Journal, call: OnceCall, object?: RunObject, form = sameInEveryExecution): Promise<unknown> {
  const parsed = parseOptions('callOnce', call, onceChecks)
  const store = checked('callOnce', () => checkJournal(journal))
  const execute = checked('callOnce', () => executeOf(parsed.tool))
  const { runId, nodeId, callId, input, onUnknown, approve, staleAfterMs, finalError } = parsed
  const given = parsed.options ?? {}
  const signal = parsed.signal ?? checked('callOnce', () => abortSignal(given['abortSignal'] ?? undefined, 'options.abortSignal'))
  if (onUnknown === 'approve' && approve === undefined) {
    throw checked('callOnce', () => invalid("onUnknown: 'approve' needs approve."))
  }
  signal?.throwIfAborted()
  const metadata = getDefinedToolMetadata(parsed.tool)
  // The loss of a lease ends a tool that listens; of another one the result is waited for, and may still be recorded.
  const [stop, left] = [new AbortController(), new AbortController()]
  const leave = (reason: unknown): void => {
    stop.abort(reason)
    left.abort(reason)
  }
  const onAbort = (): void => leave(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  const task = { runId, nodeId, iteration: 0 }
  const recorder = new ClaimRecorder(
    store,
    task,
    callId,
    { metadata: metadata ?? {}, onUnknown, approve, staleAfterMs, object },
    stop,
    leave,
  )
  const context: ToolContext = {
    ...getToolContext(),
    ...task,
    attempt: 1,
    seq: 0,
    signal: stop.signal,
    journal: store,
    recordToolCall: recordToolCallIn(recorder),
  }
  const toolCallId = typeof given['toolCallId'] === 'string' ? given['toolCallId'] : callId
  const options = { messages: [], ...given, toolCallId, abortSignal: stop.signal }
  const run = async (): Promise<unknown> => {
    if (metadata !== null) return last(execute(input, options), parsed.onProgress)
    return plainCall(recorder, parsed, options, execute)
  }
  try {
    const output = await unlessAborted(runWithToolContext(context, run), left.signal, GRACE_MS)
    return formed(output, form, (cause) => unreadable(metadata?.name ?? parsed.toolName, callId, task, cause))
  } catch (error) {
    // A tool that does not hear its signal goes on, and its call waits for nobody.
    if (left.signal.aborted) await settledWithin(recorder.abandon(error), GRACE_MS)
    if (finalError === undefined || !isFinal(error, recorder.pinnedError)) throw error
    throw finalError(error as Error)
  } finally {
    signal?.removeEventListener('abort', onAbort)
  }
}

/** @param unreadableBy makes the error for an output that throws when it is read */
function formed(output: unknown, form: (output: unknown) => unknown, unreadableBy: (cause: unknown) => ToolError): unknown {
  try {
    return form(output)
  } catch (error) {
    throw unreadableBy(error)
  }
}

/** Codes of what every further execution would come to, too. */
const FINAL: ReadonlySet<string> = new Set([
  'OUTCOME_UNKNOWN',
  'REPLAY_DIFFERS',
  'REPLAY_INCOMPLETE',
  'REPLAY_UNSAFE',
  'INVALID_INPUT',
  'JOURNAL_ROW_TOO_LARGE',
])

export const isFinal = (error: unknown, pinned?: unknown): boolean =>
  (pinned !== undefined && error === pinned) || (ToolError.isInstance(error) && FINAL.has(error.code))

type CallOptions = Readonly<Record<string, unknown>> & { toolCallId: string; abortSignal: AbortSignal }
type Execute = (input: unknown, options: CallOptions) => unknown

function executeOf(tool: unknown): Execute {
  const { execute } = (tool ?? {}) as Partial<Tool>
  if (typeof execute !== 'function') throw invalid('tool must be a tool with execute.')
  return execute.bind(tool) as unknown as Execute
}

/** A tool that records nothing itself: nothing is known of its effects, so it counts as having some. */
async function plainCall(
  recorder: ClaimRecorder,
  { toolName: name, input, onProgress }: Pick<OnceCall, 'input' | 'onProgress'> & { toolName: string },
  options: CallOptions,
  execute: Execute,
): Promise<unknown> {
  const metadata = { name, sideEffect: true, idempotent: false, acceptsIdempotencyKey: false, hasRevert: false }
  const { toolCallId, abortSignal: signal } = options
  const ctx: StartingCall['ctx'] = { idempotencyKey: null, toolCallId, signal, seq: 0 }
  const record = await recorder.start({ metadata, input, builtIn: false, ctx, ambient: undefined })
  if (record.recorded !== undefined) return record.recorded.output
  let output: unknown
  let acted = false
  try {
    signal.throwIfAborted()
    acted = true
    output = await last(execute(input, options), onProgress)
  } catch (error) {
    await record.failed(error, { acted })
    throw error
  }
  await record.succeeded(output)
  return output
}

/** The result of a tool; of a generator, the last value. */
async function last(result: unknown, onProgress: ((value: unknown) => void) | undefined): Promise<unknown> {
  const value = await result
  if (!isIterable(value)) return value
  let one: unknown
  for await (one of value) onProgress?.(one)
  return one
}
