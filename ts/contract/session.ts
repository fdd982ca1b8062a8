import type { ToolSet } from 'ai'
import { uuidV7 } from '../journal/uuid-v7.js'
import { unlessAborted } from '../unless-aborted.js'
import { ContractFailure } from './codes.js'
import type { ContractTool } from './contract-tool.js'
import { type Envelope, errorEnvelope } from './envelope.js'
import { SessionRecorder } from './journal/session-recorder.js'
import { modelTools } from './model-tools.js'
import { planSession } from './plan-session.js'
import type { SessionRequirements } from './requirements.js'
import { type RegisteredTool, runCall } from './run-call.js'
import { removeStaleDirectories } from './session-directory.js'
import type { SessionCore } from './session-core.js'
import type { SessionOptions } from './session-options.js'

/** How a single call is made. */
export interface CallOptions {
  /** The call's id; the same id may come again. @default made */
  callId?: string | undefined
  /** Stops it. */
  signal?: AbortSignal | undefined
}

/** Tools with what they may do, for one run of an agent. Closed by `close()` or by `await using`. */
export interface Session extends AsyncDisposable {
  readonly id: string
  /** The tools as the AI SDK takes them: `new ToolLoopAgent({ tools: session.tools })`. */
  readonly tools: ToolSet
  /** The tools as they were registered. */
  readonly registered: readonly ContractTool[]
  /** What was asked for, and what holds. */
  readonly requirements: SessionRequirements
  /** Whether nobody is there to agree or to answer. */
  readonly headless: boolean
  /** Calls a tool. Every failure, an unknown tool and a closed session too, is an envelope. */
  call(id: string, args: unknown, options?: CallOptions): Promise<Envelope>
  /** Stops what runs, and removes the files of the session. Closing again does nothing. */
  close(): Promise<void>
}

/** How long `close` waits for calls that do not end. */
const CLOSE_MS = 5_000

/**
 * Opens a session.
 *
 * @throws {ToolError} INVALID_INPUT for options that make no sense (a tool without one of its fields, two
 * tools of one id, a locked id); CONTRACT_MANIFEST_INVALID for a requirement with an unknown variable or a
 * pattern that is none; CONTRACT_RULE_INVALID; NATIVE_UNAVAILABLE; what the journal throws.
 */
export async function createSession(options: SessionOptions): Promise<Session> {
  const { id = uuidV7(), journal, onRecord } = options
  const { core, registry, requirements } = await planSession(id, options)
  try {
    const recorder = await SessionRecorder.open(id, journal, onRecord)
    return new ContractSession(core, registry, requirements, recorder)
  } catch (error) {
    core.directory.remove()
    throw error
  }
}

class ContractSession implements Session {
  readonly id: string
  readonly tools: ToolSet
  readonly registered: readonly ContractTool[]
  readonly requirements: SessionRequirements
  readonly headless: boolean
  readonly #core: SessionCore
  readonly #registry: ReadonlyMap<string, RegisteredTool>
  readonly #recorder: SessionRecorder
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<unknown>>()
  #closed: Promise<void> | undefined

  constructor(
    core: SessionCore,
    registry: ReadonlyMap<string, RegisteredTool>,
    requirements: SessionRequirements,
    recorder: SessionRecorder,
  ) {
    this.id = core.id
    this.headless = core.headless
    this.registered = [...registry.values()].map(({ tool }) => tool)
    this.requirements = requirements
    this.#core = core
    this.#registry = registry
    this.#recorder = recorder
    this.tools = modelTools(this.registered, (tool, args, how) => this.call(tool, args, how))
  }

  async call(id: string, args: unknown, { callId = uuidV7(), signal }: CallOptions = {}): Promise<Envelope> {
    if (this.#closed !== undefined) return errorEnvelope('session_closed', closedText, 0)
    const work = this.#call(typeof id === 'string' ? id : typeof id, args, String(callId), signal)
    this.#running.add(work)
    try {
      return await work
    } finally {
      this.#running.delete(work)
    }
  }

  async #call(id: string, args: unknown, callId: string, signal: AbortSignal | undefined): Promise<Envelope> {
    const registered = this.#registry.get(id) ?? unknownTool(id, this.registered)
    const either = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal])
    return runCall(this.#core, this.#recorder, { id: callId, registered, args, signal: either })
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#closing.abort(new ContractFailure('aborted', 'The call was aborted: the session has been closed.'))
    const all = Promise.allSettled(this.#running)
    await unlessAborted(all, AbortSignal.timeout(CLOSE_MS)).catch(() => undefined)
    this.#core.directory.remove()
    // What killed processes left behind is nobody's hurry.
    removeStaleDirectories(this.#core.directory.base)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

const closedText = 'The session has been closed. No more calls can be made in it.'

/** Stands for a tool that is not there: the call goes the same way, and is recorded. */
function unknownTool(id: string, registered: readonly ContractTool[]): RegisteredTool {
  const names = registered.map((tool) => tool.id).join(', ')
  const text = `There is no tool ${id.slice(0, 100)}. The tools of this session are: ${names}.`
  const check = (): never => {
    throw new ContractFailure('unknown_tool', text)
  }
  const tool: ContractTool = { id, description: id, parameters: {}, requires: {}, execute: check }
  return { tool, check, effect: false }
}

