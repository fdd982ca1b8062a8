import { randomUUID } from 'node:crypto'
import type { ToolSet } from 'ai'
import { checked, checkSignal, checkText, givenOptions, invalid, isNames } from '../../core/options.js'
import { agentTools, type AgentToolsOptions } from '../agent-tools/agent-tools.js'
import { boundedArguments } from '../tools/execution/read-arguments.js'
import { checkToolName } from '../tools/check-tool-name.js'
import { toToolResult } from '../tools/execution/tool-result.js'
import type { DurableObjectStorage, ThreadMessage, ThreadState } from './thread-state.js'
import type { CallOptions, CallOutcome, ChildStateOptions, QueuedCall, Thread, ThreadAttachments, ThreadMessages } from './thread.js'
import type { AnyTool, ToolResult } from '../tools/tool-definition.js'
import type { CallQueue } from './call-queue.js'
import { keepAttachments } from './keep-attachments.js'
import type { Lane } from './lane.js'
import { makeState } from './make-state.js'
import { homeOf } from './running-call.js'
import { type LiveFields, Run } from './run.js'
import { resultMessage } from './run-ticket.js'
import { threadAttachments } from './stored-attachments.js'
import { threadMessages, toThreadMessage } from './stored-messages.js'

/** A call on behalf of an agent. */
export interface AgentCall extends CallOptions {
  live?: LiveFields | undefined
}

/** The thread that `createThread` gives. */
export class OpenThread implements Thread {
  readonly threadId: string
  readonly flowId: string
  readonly state: ThreadState
  readonly storage: DurableObjectStorage
  readonly messages: ThreadMessages
  readonly attachments: ThreadAttachments
  readonly store: Thread['store']
  readonly queue: CallQueue
  readonly #ownsStore: boolean

  constructor(queue: CallQueue, ownsStore: boolean) {
    const { thread, storage, store } = queue.parts
    this.queue = queue
    this.#ownsStore = ownsStore
    this.threadId = thread.threadId
    this.flowId = thread.flowId
    this.state = queue.rootState
    this.storage = storage
    this.store = store
    this.messages = threadMessages(queue.parts)
    this.attachments = threadAttachments(queue.parts)
  }

  definition(name: string): AnyTool | undefined {
    if (typeof name !== 'string') return undefined
    const tools = this.queue.parts.tools()
    return Object.hasOwn(tools, name) ? tools[name] : undefined
  }

  async call(name: string, args: Record<string, unknown> | string = {}, options: CallOptions = {}): Promise<ToolResult> {
    const given = givenOptions('thread.call', options, ['signal', 'context', 'state', 'toolCallId'])
    checked('thread.call', () => checkCall(given))
    return this.make(name, args, given)
  }

  /** Makes a call, of an agent too. */
  async make(name: string, args: Record<string, unknown> | string, options: AgentCall): Promise<ToolResult> {
    checkToolName('thread.call', name)
    const { signal, context, state, toolCallId, live } = options
    const lane = this.#laneOf(state)
    const run = new Run(context ?? { ...this.queue.parts.context }, signal, live)
    return this.queue.call({ lane, run, name, argumentsJson: asArguments(name, args), toolCallId })
  }

  #laneOf(state: ThreadState | undefined): Lane {
    if (state === undefined) return this.queue.root
    const { queue, lane } = homeOf(state, 'thread.call', 'options.state')
    if (queue !== this.queue) throw invalid('The state is that of another thread.')
    return lane
  }

  tools(options: AgentToolsOptions = {}): ToolSet {
    const given = givenOptions('thread.tools', options, ['providers', 'only', 'context', 'state', 'maxImageBytes'])
    checked('thread.tools', () => checkAgentTools(given))
    if (given.state !== undefined) this.#laneOf(given.state)
    return agentTools(this, given)
  }

  childState(options: ChildStateOptions = {}): ThreadState {
    const { side, context = {} } = givenOptions('thread.childState', options, ['side', 'context'])
    if (side !== undefined && side !== 'a' && side !== 'b') throw invalid('thread.childState: side must be a or b.')
    const { parts, root } = this.queue
    const ofChild = checked('thread.childState', () => {
      checkObject('context', context)
      return { ...parts.context, ...context }
    })
    const lane: Lane = { name: `child-${randomUUID()}`, side: side ?? root.side, context: ofChild }
    const home = { queue: this.queue, lane }
    const ofCall = { context: ofChild, tenvs: parts.tenvs, live: undefined, stopped: () => false }
    return makeState(parts, home, ofCall, this.state)
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
    this.queue.checkOpen()
    const { parts } = this.queue
    const signal = new AbortController().signal
    const kept = await keepAttachments(parts.store, this.threadId, given, signal)
    const message = resultMessage({ name, toolCallId, argumentsJson: '{}' }, kept.result)
    const committed = await parts.store.commit(this.threadId, { attachments: kept.staged, messages: [message] })
    return toThreadMessage(committed.messages[0] as Parameters<typeof toThreadMessage>[0])
  }

  async flush(options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    const { signal } = givenOptions('thread.flush', options, ['signal'])
    checked('thread.flush', () => checkSignal(signal))
    return this.queue.flush(signal)
  }

  stop(): Promise<void> {
    return this.queue.stop()
  }

  async close(): Promise<void> {
    await this.queue.close()
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
