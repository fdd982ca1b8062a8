import { randomUUID } from 'node:crypto'
import type { ToolSet } from 'ai'
import {
  abortSignal,
  anything,
  type Check,
  checked,
  invalid,
  isNames,
  must,
  oneOf,
  optional,
  parseOptions,
  text,
} from '../../core/options.js'
import { type AgentCall, agentTools } from '../agent-tools/agent-tools.js'
import { notNegative } from '../store/store-checks.js'
import type { StoredMessage } from '../store/thread-store.js'
import { stringifyArguments } from '../tools/execute-tool.js'
import { checkToolName } from '../tools/tool-definition.js'
import { toToolResult, type ToolResult } from '../tools/tool-result.js'
import { stageAttachments, threadAttachments } from './attachments.js'
import type { CallScheduler } from './call-scheduler.js'
import type { CallQueue } from './pending-call.js'
import { Run } from './run.js'
import { createState, ownerOf } from './running-call.js'
import { resultMessage, threadMessages, toThreadMessage } from './stored-messages.js'
import { findTool } from './thread-parts.js'
import type { ThreadState } from './thread-state.js'
import type { Thread } from './thread.js'

/** An option that is an object. */
export const object: Check<Record<string, unknown>> = must<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null,
  'an object',
)

/** `ownerOf` refuses what is no state. */
const anyState = anything<ThreadState | undefined>()
const callChecks = { signal: abortSignal, context: optional(object), state: anyState, toolCallId: optional(text) }
const agentToolsChecks = {
  providers: optional(object) as Check<Record<string, ToolSet> | undefined>,
  only: optional(must<string[]>(isNames, 'an array of names of tools')),
  context: optional(object),
  state: anyState,
  maxImageBytes: optional(notNegative),
}
const childStateChecks = { side: optional(oneOf('a', 'b')), context: optional(object) }

/** The thread that `createThread` returns. */
export interface OpenThread extends Thread {
  readonly scheduler: CallScheduler
}

/** Opens the thread of a scheduler, for its host. */
export function openThread(scheduler: CallScheduler, ownsStore: boolean): OpenThread {
  const { parts, root } = scheduler
  const { store, storage } = parts
  const { threadId, flowId } = parts.thread
  const attachments = threadAttachments(parts)
  const queueOf = (state: ThreadState | undefined): CallQueue => {
    if (state === undefined) return root
    const owner = ownerOf(state, 'thread.call', 'options.state')
    if (owner.scheduler !== scheduler) throw invalid('The state is that of another thread.')
    return owner.queue
  }
  const call = async (name: string, args: Record<string, unknown> | string, options: AgentCall): Promise<ToolResult> => {
    checkToolName('thread.call', name)
    const { signal, context = { ...parts.context }, state, toolCallId, live } = options
    const queue = queueOf(state)
    const refuse = (why: string): Error => invalid(`The arguments of \`${name}\` ${why}.`)
    const argumentsJson = typeof args === 'string' ? args : stringifyArguments(args, refuse)
    return scheduler.call({ queue, run: new Run(context, signal, live), name, argumentsJson, toolCallId })
  }
  const close = async (): Promise<void> => {
    await scheduler.close()
    if (ownsStore) await store.close()
  }
  return {
    scheduler,
    threadId,
    flowId,
    state: scheduler.rootState,
    storage,
    store,
    messages: threadMessages(parts),
    attachments,
    definition: (name) => findTool(parts, name),
    call: async (name, args = {}, options = {}) => call(name, args, parseOptions('thread.call', options, callChecks)),
    tools(options = {}) {
      const parsed = parseOptions('thread.tools', options, agentToolsChecks)
      queueOf(parsed.state)
      return agentTools({ parts, attachments, call }, parsed)
    },
    childState(options = {}) {
      const { side = root.side, context: added } = parseOptions('thread.childState', options, childStateChecks)
      const context = { ...parts.context, ...added }
      const queue: CallQueue = { name: `child-${randomUUID()}`, side, context }
      return createState({ scheduler, queue }, { context, tenvs: parts.tenvs })
    },
    async queued() {
      const calls = await store.listCalls(threadId, { status: 'queued' })
      return calls.map(({ id, name, argumentsJson, forceAllow, queuedAtUs }) => ({
        id,
        type: 'function',
        function: { name, arguments: argumentsJson },
        forceAllow,
        queued_at: queuedAtUs,
      }))
    },
    async outcome(callId) {
      const stored = await store.getCall(threadId, callId)
      if (stored === undefined) return undefined
      const { id, name, status, resultJson } = stored
      return { id, name, status, result: resultJson === null ? undefined : (JSON.parse(resultJson) as ToolResult) }
    },
    async recordProviderResult(name, result, toolCallId = randomUUID()) {
      checkToolName('thread.recordProviderResult', name)
      checked('thread.recordProviderResult', () => text(toolCallId, 'toolCallId'))
      scheduler.checkOpen()
      const staged = await stageAttachments(parts, toToolResult(name, result))
      const message = resultMessage({ name, toolCallId, argumentsJson: '{}' }, staged.result)
      const { messages } = await store.commit(threadId, { attachments: staged.paths, messages: [message] })
      return toThreadMessage(messages[0] as StoredMessage)
    },
    flush: async (options = {}) => scheduler.flush(parseOptions('thread.flush', options, { signal: abortSignal }).signal),
    stop: () => scheduler.stop(),
    close,
    [Symbol.asyncDispose]: close,
  }
}
