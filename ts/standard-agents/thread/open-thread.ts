import { randomUUID } from 'node:crypto'
import type { ToolSet } from 'ai'
import { checked, checkSignal, checkText, givenOptions, invalid, isNames } from '../../core/options.js'
import { type AgentCall, agentTools } from '../agent-tools/agent-tools.js'
import { boundedArguments } from '../tools/execute-tool.js'
import { checkToolName } from '../tools/check-tool-name.js'
import { toToolResult, type ToolResult } from '../tools/tool-result.js'
import type { DurableObjectStorage, ThreadMessage, ThreadState } from './thread-state.js'
import type {
  AgentToolsOptions,
  CallOptions,
  CallOutcome,
  ChildStateOptions,
  QueuedCall,
  Thread,
  ThreadAttachments,
  ThreadMessages,
} from './thread.js'
import type { AnyTool } from '../tools/tool-definition.js'
import type { CallScheduler } from './call-scheduler.js'
import { stageAttachments, threadAttachments } from './attachments.js'
import type { CallQueue } from './pending-call.js'
import { createState } from './create-state.js'
import { ownerOf } from './running-call.js'
import { Run } from './run.js'
import { resultMessage } from './call-end.js'
import { threadMessages, toThreadMessage } from './stored-messages.js'

/** The thread that `createThread` returns. */
export class OpenThread implements Thread {
  readonly threadId: string
  readonly flowId: string
  readonly state: ThreadState
  readonly storage: DurableObjectStorage
  readonly messages: ThreadMessages
  readonly attachments: ThreadAttachments
  readonly store: Thread['store']
  readonly scheduler: CallScheduler
  readonly #ownsStore: boolean

  constructor(scheduler: CallScheduler, ownsStore: boolean) {
    const { thread, storage, store } = scheduler.parts
    this.scheduler = scheduler
    this.#ownsStore = ownsStore
    this.threadId = thread.threadId
    this.flowId = thread.flowId
    this.state = scheduler.rootState
    this.storage = storage
    this.store = store
    this.messages = threadMessages(scheduler.parts)
    this.attachments = threadAttachments(scheduler.parts)
  }

  definition(name: string): AnyTool | undefined {
    if (typeof name !== 'string') return undefined
    const tools = this.scheduler.parts.tools()
    return Object.hasOwn(tools, name) ? tools[name] : undefined
  }

  async call(name: string, args: Record<string, unknown> | string = {}, options: CallOptions = {}): Promise<ToolResult> {
    const given = givenOptions('thread.call', options, ['signal', 'context', 'state', 'toolCallId'])
    checked('thread.call', () => checkCall(given))
    return this.make(name, args, given)
  }

  /** Makes a call, on behalf of an agent too. */
  async make(name: string, args: Record<string, unknown> | string, options: AgentCall): Promise<ToolResult> {
    checkToolName('thread.call', name)
    const { signal, context, state, toolCallId, live } = options
    const queue = this.#queueOf(state)
    const run = new Run(context ?? { ...this.scheduler.parts.context }, signal, live)
    return this.scheduler.call({ queue, run, name, argumentsJson: asArguments(name, args), toolCallId })
  }

  #queueOf(state: ThreadState | undefined): CallQueue {
    if (state === undefined) return this.scheduler.root
    const { scheduler, queue } = ownerOf(state, 'thread.call', 'options.state')
    if (scheduler !== this.scheduler) throw invalid('The state is that of another thread.')
    return queue
  }

  tools(options: AgentToolsOptions = {}): ToolSet {
    const given = givenOptions('thread.tools', options, ['providers', 'only', 'context', 'state', 'maxImageBytes'])
    checked('thread.tools', () => checkAgentTools(given))
    if (given.state !== undefined) this.#queueOf(given.state)
    return agentTools(this, given)
  }

  childState(options: ChildStateOptions = {}): ThreadState {
    const { side, context = {} } = givenOptions('thread.childState', options, ['side', 'context'])
    if (side !== undefined && side !== 'a' && side !== 'b') throw invalid('thread.childState: side must be a or b.')
    const { parts, root } = this.scheduler
    const ofChild = checked('thread.childState', () => {
      checkObject('context', context)
      return { ...parts.context, ...context }
    })
    const queue: CallQueue = { name: `child-${randomUUID()}`, side: side ?? root.side, context: ofChild }
    const owner = { scheduler: this.scheduler, queue }
    const ofCall = { context: ofChild, tenvs: parts.tenvs, live: undefined, stopped: () => false }
    return createState(parts, owner, ofCall, this.state)
  }

  async queued(): Promise<QueuedCall[]> {
    const calls = await this.store.listCalls(this.threadId, { status: 'queued' })
    return calls.map(({ id, name, argumentsJson, forceAllow, queuedAtUs }) => ({
      id,
      type: 'function',
      function: { name, arguments: argumentsJson },
      forceAllow,
      queued_at: queuedAtUs,
    }))
  }

  async outcome(callId: string): Promise<CallOutcome | undefined> {
    const call = await this.store.getCall(this.threadId, callId)
    if (call === undefined) return undefined
    const { id, name, status, resultJson } = call
    return { id, name, status, result: resultJson === null ? undefined : (JSON.parse(resultJson) as ToolResult) }
  }

  async recordProviderResult(name: string, result: ToolResult, toolCallId: string = randomUUID()): Promise<ThreadMessage> {
    checkToolName('thread.recordProviderResult', name)
    const given = checked('thread.recordProviderResult', () => {
      checkText('toolCallId', toolCallId)
      return toToolResult(name, result)
    })
    this.scheduler.checkOpen()
    const { parts } = this.scheduler
    const signal = new AbortController().signal
    const staged = await stageAttachments(parts, given, signal)
    const message = resultMessage({ name, toolCallId, argumentsJson: '{}' }, staged.result)
    const committed = await parts.store.commit(this.threadId, { attachments: staged.paths, messages: [message] })
    return toThreadMessage(committed.messages[0] as Parameters<typeof toThreadMessage>[0])
  }

  async flush(options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    const { signal } = givenOptions('thread.flush', options, ['signal'])
    checked('thread.flush', () => checkSignal(signal))
    return this.scheduler.flush(signal)
  }

  stop(): Promise<void> {
    return this.scheduler.stop()
  }

  async close(): Promise<void> {
    await this.scheduler.close()
    if (this.#ownsStore) await this.store.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function checkCall({ signal, context, toolCallId }: CallOptions): void {
  checkSignal(signal)
  if (context !== undefined) checkObject('context', context)
  if (toolCallId !== undefined) checkText('toolCallId', toolCallId)
}

function checkAgentTools({ providers, only, context, maxImageBytes }: AgentToolsOptions): void {
  if (providers !== undefined) checkObject('providers', providers)
  if (only !== undefined && !isNames(only)) throw invalid('only must be an array of names of tools.')
  if (context !== undefined) checkObject('context', context)
  if (maxImageBytes !== undefined && !(typeof maxImageBytes === 'number' && maxImageBytes >= 0)) {
    throw invalid('maxImageBytes must not be negative.')
  }
}

function checkObject(name: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) throw invalid(`${name} must be an object.`)
}

function asArguments(name: string, args: unknown): string {
  if (typeof args === 'string') return args
  let json: string | undefined
  try {
    json = JSON.stringify(boundedArguments(args))
  } catch (error) {
    throw invalid(`The arguments of \`${name}\` cannot be taken: ${error instanceof Error ? error.message : ''}`)
  }
  if (json === undefined) throw invalid(`The arguments of \`${name}\` have no JSON form.`)
  return json
}
