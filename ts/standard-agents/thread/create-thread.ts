import { randomUUID } from 'node:crypto'
import { boolean, callable, type Check, type Checks, invalid, must, oneOf, optional, parseOptions, text } from '../../core/options.js'
import { checkJournal } from '../../journal/checks.js'
import type { Journal } from '../../journal/journal.js'
import { notNegative } from '../store/store-checks.js'
import { threadStorage } from '../store/thread-storage.js'
import type { ThreadStore } from '../store/thread-store.js'
import { checkToolName, isTool, type NamedTools } from '../tools/tool-definition.js'
import { CallScheduler } from './call-scheduler.js'
import { object, openThread } from './open-thread.js'
import type { OnInterrupted } from './thread-parts.js'
import type { Agent, Env, Message, ThreadEvent } from './thread-state.js'
import type { Thread } from './thread.js'

/** The options of `createThread`. */
export interface CreateThreadOptions {
  /** Tools by name, as `loadTools` returns them, or a function that returns them for each call. */
  tools: NamedTools | (() => NamedTools)
  /**
   * Where the thread is stored: `file:thread.db` (any number of threads and processes share a file),
   * `memory:`, `postgres://user@host/database`, or a store, which stays open when the thread is closed. @default 'memory:'
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

const tools: Check<() => NamedTools> = (value) => {
  if (typeof value === 'function') return value as () => NamedTools
  if (typeof value !== 'object' || value === null) throw invalid('tools must be tools by their names.')
  for (const [name, tool] of Object.entries(value)) {
    checkToolName('createThread', name)
    if (!isTool(tool)) throw invalid(`The tool \`${name}\` must come from defineTool.`, { toolName: name })
  }
  return () => value as NamedTools
}

const storeOrLocation: Check<string | ThreadStore> = (value) => {
  if (isStore(value)) return value
  if (typeof value === 'string' || value instanceof URL) return String(value)
  throw invalid('store must be a location such as file:thread.db, memory:, or a store.')
}

const checks = {
  tools,
  store: optional(storeOrLocation, 'memory:'),
  threadId: optional(text),
  flowId: optional(text),
  tenvs: optional(object),
  env: optional(object),
  context: optional(object),
  agentConfig: optional(object),
  currentSide: optional(oneOf('a', 'b'), 'a'),
  messageHistory: optional(must<readonly Message[]>(Array.isArray, 'an array'), []),
  onEvent: optional(callable<(event: ThreadEvent) => unknown>()),
  journal: optional(checkJournal),
  onInterrupted: optional(oneOf('error', 'retry'), 'error'),
  resume: optional(boolean, true),
  lockWaitMs: optional(notNegative, 30_000),
} satisfies Checks<Omit<CreateThreadOptions, 'tools' | 'store'>> & { tools: unknown; store: unknown }

/** @param openStore opens the store at a location. */
export async function createThreadIn(options: CreateThreadOptions, openStore: (location: string) => Promise<ThreadStore>): Promise<Thread> {
  const parsed = parseOptions('createThread', options, checks)
  const { store: source, threadId = randomUUID(), flowId = randomUUID(), journal, currentSide, resume, ...rest } = parsed
  const { env = {}, context = {}, tenvs = {}, agentConfig = {} } = rest
  const store = typeof source === 'string' ? await openStore(source) : source
  try {
    const thread = await store.openThread({ threadId, flowId })
    const storage = threadStorage(store, thread.threadId)
    const run = journal === undefined ? {} : { journal }
    const parts = { ...rest, store, thread, storage, env, context, tenvs, agentConfig, run }
    const scheduler = new CallScheduler(parts, currentSide)
    if (resume) scheduler.resume()
    return openThread(scheduler, typeof source === 'string')
  } catch (error) {
    if (typeof source === 'string') await store.close().catch(() => undefined)
    throw error
  }
}

function isStore(value: unknown): value is ThreadStore {
  return typeof value === 'object' && value !== null && typeof (value as ThreadStore).commit === 'function'
}
