import type { Tool } from 'ai'
import { eitherSignal } from '../core/abort.js'
import { abortSignal, anything, callable, checked, type Checks, invalid, oneOf, optional, parseOptions, text } from '../core/options.js'
import { getToolContext, runWithToolContext, type ToolContext } from '../journal/calls/context.js'
import type { StartingCall } from '../journal/calls/call-record.js'
import { recordToolCallIn } from '../journal/calls/recorders.js'
import { checkJournal } from '../journal/checks.js'
import type { Journal } from '../journal/journal.js'
import { getDefinedToolMetadata } from '../toolkit/define-tool.js'
import { ClaimRecorder } from './claim-recorder.js'
import type { UnknownCallOptions } from './unknown-calls.js'

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
  /** Ends the call, and the wait for another process that makes it. */
  signal?: AbortSignal | undefined
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
} satisfies Checks<OnceCall>

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
  const parsed = parseOptions('callOnce', call, onceChecks)
  const store = checked('callOnce', () => checkJournal(journal))
  const execute = checked('callOnce', () => executeOf(parsed.tool))
  const { runId, nodeId, callId, input, signal, onUnknown, approve } = parsed
  if (onUnknown === 'approve' && approve === undefined) {
    throw checked('callOnce', () => invalid("onUnknown: 'approve' needs approve."))
  }
  signal?.throwIfAborted()
  const metadata = getDefinedToolMetadata(parsed.tool)
  const stop = new AbortController()
  const either = eitherSignal(signal, stop.signal) as AbortSignal
  const onAbort = (): void => stop.abort(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  const task = { runId, nodeId, iteration: 0 }
  const recorder = new ClaimRecorder(store, task, callId, { metadata: metadata ?? {}, onUnknown, approve }, stop)
  const context: ToolContext = {
    ...getToolContext(),
    ...task,
    attempt: 1,
    seq: 0,
    signal: stop.signal,
    journal: store,
    recordToolCall: recordToolCallIn(recorder),
  }
  try {
    return await runWithToolContext(context, async () => {
      if (metadata !== null) return last(execute(input, { toolCallId: callId, abortSignal: either, messages: [] }))
      return plainCall(recorder, parsed.toolName, input, callId, either, execute)
    })
  } finally {
    signal?.removeEventListener('abort', onAbort)
  }
}

type Execute = (input: unknown, options: { toolCallId: string; abortSignal: AbortSignal; messages: [] }) => unknown

function executeOf(tool: unknown): Execute {
  const { execute } = (tool ?? {}) as Partial<Tool>
  if (typeof execute !== 'function') throw invalid('tool must be a tool with execute.')
  return execute.bind(tool) as unknown as Execute
}

/** A tool that records nothing itself: nothing is known of its effects, so it counts as having some. */
async function plainCall(
  recorder: ClaimRecorder,
  name: string,
  input: unknown,
  callId: string,
  signal: AbortSignal,
  execute: Execute,
): Promise<unknown> {
  const metadata = { name, sideEffect: true, idempotent: false, acceptsIdempotencyKey: false, hasRevert: false }
  const ctx: StartingCall['ctx'] = { idempotencyKey: null, toolCallId: callId, signal, seq: 0 }
  const record = await recorder.start({ metadata, input, builtIn: false, ctx, ambient: undefined })
  if (record.recorded !== undefined) return record.recorded.output
  let output: unknown
  try {
    output = await last(execute(input, { toolCallId: callId, abortSignal: signal, messages: [] }))
  } catch (error) {
    await record.failed(error, { acted: true })
    throw error
  }
  await record.succeeded(output)
  return output
}

/** The result of a tool; of a generator, the last value. */
async function last(result: unknown): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result
  let value: unknown
  for await (value of result as AsyncIterable<unknown>);
  return value
}
