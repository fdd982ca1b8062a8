import type { OpenChild } from './agent-team.js'
import { childOptions, type Lineage } from './lineage.js'
import { uuidV7 } from '../../core/uuid-v7.js'
import { checked, checkSignal, checkText, givenOptions, invalid, isNames } from '../../core/options.js'
import { unlessAborted } from '../../core/abort.js'
import type { MakeCheck } from '../call/argument-checks/argument-checks.js'
import type { SessionToolSet, ToolData } from '../tools/built-in-tools.js'
import { ContractFailure } from '../registry/codes.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { type Envelope, errorEnvelope, failureOf } from '../registry/envelope.js'
import { SessionRecorder } from '../journal/session-recorder.js'
import { planSession } from './plan-session.js'
import type { SessionRequirements } from '../registry/requirements.js'
import { type RegisteredTool, runCall } from '../call/run-call.js'
import type { SessionCore } from './session-core.js'
import { checkSessionOptions, type SessionOptions } from './session-options.js'
import { type PrepareStep, SessionTools } from './session-tools.js'
import { projectInstructions } from '../skills/project-instructions.js'
import type { SkillEntry } from '../skills/skill-index.js'

export { sessionOptionNames } from './session-options.js'

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
  /**
   * The tools as the AI SDK takes them: `new ToolLoopAgent({ tools: session.tools })`. `task`, `skill`, `web_search` and
   * `tool_search` are among them while there are agents, skills, a provider, and servers or extensions.
   */
  readonly tools: SessionToolSet
  /** The tools as they were registered. */
  readonly registered: readonly ContractTool[]
  /** What was asked for, and what holds. */
  readonly requirements: SessionRequirements
  /** Whether nobody is there to agree or to answer. */
  readonly headless: boolean
  /** The skills that were found when it began. */
  readonly skills: readonly SkillEntry[]
  /**
   * What was left out, and why: skills and tools that are none, and servers that cannot be connected. Rules about
   * tools and capabilities that do not exist.
   */
  readonly warnings: readonly string[]
  /**
   * Goes between the steps of an agent: `new ToolLoopAgent({ tools: session.tools, prepareStep: session.prepareStep })`.
   * It connects servers, offers tools that were found, and hands in what tasks in the background gave.
   */
  readonly prepareStep: PrepareStep
  /** The directory for files that are not part of the workspace: absolute, its own, and removed by `close()`. */
  readonly scratch: string
  /** What a system prompt says of the scratch directory. */
  scratchPrompt(): string
  /**
   * Keeps a file of the scratch directory: copies it to `destination`, which must not exist yet.
   *
   * @returns the absolute path of the copy.
   * @throws {ToolError} INVALID_INPUT for what is no file of the scratch directory, or for a place that is taken.
   */
  promote(path: string, destination: string): Promise<string>
  /**
   * The user has opened a file: from now on its directory is one of `{ad-hoc}`, in this session and its subagents.
   * Calls that have begun keep what they had. The file need not exist yet, and a link is not followed.
   *
   * @throws {ToolError} INVALID_INPUT for a path in no directory, and in a closed session.
   */
  openFile(path: string): void
  /**
   * The user has closed a file, as often as it was opened: its directory stays while others in it are open.
   *
   * @throws {ToolError} INVALID_INPUT for a file that is not open, and in a closed session.
   */
  closeFile(path: string): void
  /** What a system prompt says of the skills. Empty where there are none. */
  skillsPrompt(): string
  /** What the project wants every agent to know: `AGENTS.md` and others around the workspace, the nearest last. */
  projectInstructions(): Promise<string>
  /** Calls a tool. Every failure, an unknown tool and a closed session too, is an envelope. */
  call<ID extends string>(id: ID, args: unknown, options?: CallOptions): Promise<Envelope<ToolData<ID>>>
  /** Stops what runs, and removes the files of the session. Closing again does nothing. */
  close(): Promise<void>
}

/** How long `close` waits for calls that do not end. */
const CLOSE_MS = 5_000

/** Opens a session; with a lineage, that of a child. */
export async function openSession(options: SessionOptions, lineage?: Lineage): Promise<Session> {
  checked('createSession', () => checkSessionOptions(options))
  const { id = uuidV7(), journal, onRecord } = options
  const openChild: OpenChild = (from, note) => openSession(childOptions(options, from, note), from)
  const { core, registry, requirements, makeCheck } = await planSession(id, options, openChild, lineage)
  try {
    const recorder = await SessionRecorder.open(id, journal, onRecord, core.place)
    if (recorder.background !== undefined) core.team.background.recordIn(recorder.background)
    // A child begins afresh, also where one before it had the same id.
    if (lineage === undefined) await core.team.background.takeUp()
    return new ContractSession(core, registry, requirements, recorder, makeCheck)
  } catch (error) {
    await core.directory.remove()
    throw error
  }
}

class ContractSession implements Session {
  readonly id: string
  readonly tools: SessionToolSet
  readonly requirements: SessionRequirements
  readonly headless: boolean
  readonly #core: SessionCore
  readonly #tools: SessionTools
  readonly #recorder: SessionRecorder
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<unknown>>()
  #closed: Promise<void> | undefined

  constructor(
    core: SessionCore,
    registry: ReadonlyMap<string, RegisteredTool>,
    requirements: SessionRequirements,
    recorder: SessionRecorder,
    makeCheck: MakeCheck,
  ) {
    this.id = core.id
    this.headless = core.headless
    this.requirements = requirements
    this.#core = core
    this.#recorder = recorder
    this.#tools = new SessionTools(core, registry, makeCheck, (tool, args, how) => this.call(tool, args, how))
    this.tools = this.#tools.toolSet as unknown as SessionToolSet
  }

  get registered(): readonly ContractTool[] {
    return this.#tools.all
  }

  get skills(): readonly SkillEntry[] {
    return this.#core.skills.entries
  }

  get warnings(): readonly string[] {
    return [...this.#core.warnings, ...this.#core.skills.warnings, ...this.#tools.warnings]
  }

  get scratch(): string {
    return this.#core.scratch.path
  }

  scratchPrompt(): string {
    return this.#core.scratch.prompt()
  }

  async promote(path: string, destination: string): Promise<string> {
    checked('session.promote', () => {
      checkText('path', path)
      checkText('destination', destination)
    })
    return this.#core.scratch.promote(path, destination)
  }

  openFile(path: string): void {
    this.#changeFiles('session.openFile', path, (file) => this.#core.adHoc.open(file))
  }

  closeFile(path: string): void {
    this.#changeFiles('session.closeFile', path, (file) => this.#core.adHoc.close(file))
  }

  #changeFiles(caller: string, path: string, change: (file: string) => void): void {
    checked(caller, () => {
      if (this.#closed !== undefined) throw invalid('The session has been closed.')
      if (!isNames([path])) throw invalid('path must be a non-empty string.')
      change(path)
    })
  }

  skillsPrompt(): string {
    return this.#core.skills.prompt()
  }

  projectInstructions(): Promise<string> {
    return projectInstructions(this.#core.roots)
  }

  readonly prepareStep: PrepareStep = async (step) => {
    const messages = checked('session.prepareStep', () => {
      if (!Array.isArray(step?.messages)) throw invalid('A step must be an object with messages, as the AI SDK gives it.')
      return step.messages
    })
    const activeTools = await this.#tools.nextStep(this.#closing.signal)
    const more = await this.#core.team.background.into(messages)
    return more === undefined ? { activeTools } : { activeTools, messages: more }
  }

  call<ID extends string>(id: ID, args: unknown, options: CallOptions = {}): Promise<Envelope<ToolData<ID>>> {
    return this.#made(id, args, options) as Promise<Envelope<ToolData<ID>>>
  }

  async #made(id: string, args: unknown, options: CallOptions): Promise<Envelope> {
    if (this.#closed !== undefined) return errorEnvelope('session_closed', closedText, 0)
    let given: CallOptions
    try {
      given = givenOptions('session.call', options, ['callId', 'signal'])
      checked('session.call', () => checkSignal(given.signal))
    } catch (error) {
      const { code, text } = failureOf(error)
      return errorEnvelope(code, text, 0)
    }
    const { callId = uuidV7(), signal } = given
    const work = this.#call(typeof id === 'string' ? id : typeof id, args, callIdOf(callId), signal)
    this.#running.add(work)
    try {
      return await work
    } finally {
      this.#running.delete(work)
    }
  }

  async #call(id: string, args: unknown, callId: string, signal: AbortSignal | undefined): Promise<Envelope> {
    const registered = this.#tools.get(id)
    const either = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal])
    return runCall(this.#core, this.#recorder, { id: callId, registered, args, signal: either })
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#closing.abort(new ContractFailure('aborted', 'The call was aborted: the session has been closed.'))
    const { team, mcp } = this.#core
    // Again when all calls have ended: one of them may just have been beginning a task.
    const all = Promise.allSettled([...this.#running, team.close(), mcp.close()]).then(() => team.close())
    await unlessAborted(all, AbortSignal.timeout(CLOSE_MS)).catch(() => undefined)
    // What is too much to be removed in that time is removed behind it.
    await unlessAborted(this.#core.directory.remove(), AbortSignal.timeout(CLOSE_MS)).catch(() => undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/** Hosts may number their calls. */
const callIdOf = (callId: unknown): string => (typeof callId === 'string' || typeof callId === 'number' ? String(callId) : uuidV7())

const closedText = 'The session has been closed. No more calls can be made in it.'
