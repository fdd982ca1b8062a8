import { randomUUID } from 'node:crypto'
import { checkJournal } from '../../journal/checks.js'
import type { Journal } from '../../journal/journal.js'
import { checked, givenOptions, invalid } from '../../core/options.js'
import { checkToolName } from '../tools/check-tool-name.js'
import type { ThreadStore } from '../store/thread-store.js'
import { openThreadStore } from '../store/open-thread-store.js'
import type { Agent, Env, Message, ThreadEvent } from './thread-state.js'
import type { Thread } from './thread.js'
import { CallScheduler } from './call-scheduler.js'
import { durableStorage } from './durable-storage.js'
import { OpenThread } from './open-thread.js'
import type { OnInterrupted, ThreadParts } from './thread-parts.js'
import { isTool, type NamedTools } from '../tools/tool-definition.js'

/** The options of `createThread`. */
export interface CreateThreadOptions {
  /** Tools by name, as `loadTools` returns them, or a function that returns them for each call. */
  tools: NamedTools | (() => NamedTools)
  /**
   * Where the thread is stored: `file:thread.db` (any number of threads and processes share a file),
   * `memory:`, or a store, which stays open when the thread is closed. @default 'memory:'
   */
  store?: string | URL | ThreadStore | undefined
  /** An existing thread, or the id of a new one. @default a UUID */
  threadId?: string | undefined
  /** The flow of a new thread; an existing one keeps its own. @default a UUID */
  flowId?: string | undefined
  /** The thread's variables, for tools with `tenvs`. @default {} */
  tenvs?: Record<string, unknown> | undefined
  /** The value of `state.env`. The process's environment is never part of it by default. @default {} */
  env?: Env | undefined
  /** The initial `state.context` of every run. @default {} */
  context?: Record<string, unknown> | undefined
  /** @default {} */
  agentConfig?: Agent | undefined
  /** @default 'a' */
  currentSide?: 'a' | 'b' | undefined
  /** The value of `state.messageHistory` outside of an AI SDK agent. @default [] */
  messageHistory?: readonly Message[] | undefined
  /** Receives the events that tools emit by `emitThreadEvent`. The tools wait for it. */
  onEvent?: ((event: ThreadEvent) => unknown) | undefined
  /** The journal that records calls, from `openJournal`. */
  journal?: Journal | undefined
  /**
   * What happens to a call whose process died: `error` ends it with an error that says so, because its
   * effects are unknown; `retry` makes it again, up to three times. @default 'error'
   */
  onInterrupted?: OnInterrupted | undefined
  /** Whether calls that an earlier process left are made, in the background. @default true */
  resume?: boolean | undefined
  /** How long a call waits for another process that has the thread's lock, in milliseconds. @default 30000 */
  lockWaitMs?: number | undefined
}

/**
 * Opens a thread: tools with the state they work on.
 *
 * ```ts
 * const { tools } = await loadTools('agents/tools')
 * await using thread = await createThread({ tools, store: 'file:thread.db', threadId: 'customer-7' })
 * await thread.call('search_knowledge_base', { query: 'refunds' })
 * ```
 *
 * @throws {ToolError} INVALID_INPUT for an invalid option, and what opening the store throws.
 */
export async function createThread(options: CreateThreadOptions): Promise<Thread> {
  const given = givenOptions('createThread', options, optionNames)
  checked('createThread', () => checkOptions(given))
  const { store: where = 'memory:', threadId = randomUUID(), flowId = randomUUID(), resume = true } = given
  const { tools, journal, tenvs = {}, context = {}, env = {}, agentConfig = {}, messageHistory = [] } = given
  const store = isStore(where) ? where : await openThreadStore(String(where))
  try {
    const thread = await store.openThread({ threadId, flowId })
    const parts: ThreadParts = {
      store,
      thread,
      tools: typeof tools === 'function' ? tools : () => tools,
      storage: durableStorage(store, thread.threadId),
      env,
      context,
      tenvs,
      agentConfig,
      messageHistory,
      onEvent: given.onEvent,
      onInterrupted: given.onInterrupted ?? 'error',
      lockWaitMs: given.lockWaitMs ?? 30_000,
      run: journal === undefined ? {} : { journal },
    }
    const scheduler = new CallScheduler(parts, given.currentSide ?? 'a')
    if (resume) scheduler.resume()
    return new OpenThread(scheduler, !isStore(where))
  } catch (error) {
    if (!isStore(where)) await store.close().catch(() => undefined)
    throw error
  }
}

const optionNames = `tools store threadId flowId tenvs env context agentConfig currentSide messageHistory onEvent journal
  onInterrupted resume lockWaitMs`.split(/\s+/u)

function isStore(value: unknown): value is ThreadStore {
  return typeof value === 'object' && value !== null && typeof (value as ThreadStore).commit === 'function'
}

function checkOptions(options: CreateThreadOptions): void {
  const { tools, store, threadId, flowId, currentSide, onEvent, onInterrupted, resume, lockWaitMs, journal } = options
  if (typeof tools !== 'function') checkTools(tools)
  if (store !== undefined && typeof store !== 'string' && !(store instanceof URL) && !isStore(store)) {
    throw invalid('store must be a location such as file:thread.db, memory:, or a store.')
  }
  for (const [name, value] of Object.entries({ threadId, flowId })) {
    if (value !== undefined && (typeof value !== 'string' || value === '')) {
      throw invalid(`${name} must be a non-empty string.`)
    }
  }
  for (const name of ['tenvs', 'env', 'context', 'agentConfig'] as const) {
    if (options[name] !== undefined && (typeof options[name] !== 'object' || options[name] === null)) {
      throw invalid(`${name} must be an object.`)
    }
  }
  checkOneOf('currentSide', currentSide, ['a', 'b'])
  checkOneOf('onInterrupted', onInterrupted, ['error', 'retry'])
  checkOneOf('resume', resume, [true, false])
  if (onEvent !== undefined && typeof onEvent !== 'function') throw invalid('onEvent must be a function.')
  if (lockWaitMs !== undefined && (typeof lockWaitMs !== 'number' || !(lockWaitMs >= 0))) {
    throw invalid('lockWaitMs must not be negative.')
  }
  if (options.messageHistory !== undefined && !Array.isArray(options.messageHistory)) throw invalid('messageHistory must be an array.')
  if (journal !== undefined) checkJournal(journal)
}

function checkOneOf(name: string, value: unknown, allowed: readonly unknown[]): void {
  if (value !== undefined && !allowed.includes(value)) throw invalid(`${name} must be one of ${allowed.join(', ')}.`)
}

function checkTools(tools: unknown): void {
  if (typeof tools !== 'object' || tools === null) throw invalid('tools must be tools by their names.')
  for (const [name, tool] of Object.entries(tools)) {
    checkToolName('createThread', name)
    if (!isTool(tool)) throw invalid(`The tool \`${name}\` must be what defineTool gave.`, { toolName: name })
  }
}
