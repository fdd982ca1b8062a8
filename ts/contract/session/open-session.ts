import type { ModelMessage } from 'ai'
import type { Scope } from '../call/scope.js'
import { planScope, planSession, type SessionPlan } from './plan-session.js'
import type { CallOptions, PrepareStep, Session } from './session.js'
import type { OpenChild } from './agent-team.js'
import { childOptions, type Lineage } from './lineage.js'
import { uuidV7 } from '../../core/clock.js'
import { checked, checkSignal, checkText, givenOptions, invalid, isNames } from '../../core/options.js'
import { unlessAborted } from '../../core/abort.js'
import type { SessionToolSet, ToolData } from '../tools/built-in-tools.js'
import { ContractFailure, type Envelope, errorEnvelope, failureOf } from '../registry/envelope.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { SessionRecorder } from '../journal/session-recorder.js'
import type { SessionRequirements } from '../registry/requirements.js'
import { runCall } from '../call/run-call.js'
import { parseSessionOptions, type SessionOptions } from './session-options.js'
import { SessionTools } from './session-tools.js'
import { projectInstructions } from '../skills/project-instructions.js'
import type { SkillEntry } from '../skills/skill-index.js'

/** How long `close` waits for calls that do not end. */
const CLOSE_MS = 5_000

/** Opens a session; with a lineage, that of a subagent. */
export async function openSession(given: SessionOptions, lineage?: Lineage): Promise<Session> {
  const options = parseSessionOptions(given)
  const { id = uuidV7(), journal, onRecord } = options
  const openChild: OpenChild = (from, note) => openSession(childOptions(options, from, note), from)
  const plan = await planSession(id, options, openChild, lineage)
  try {
    const { background } = plan.team
    const recorder = await SessionRecorder.open(id, journal, onRecord, plan.self.place)
    if (recorder.background !== undefined) background.recordIn(recorder.background)
    // A subagent begins afresh, also where an earlier one had the same id.
    if (lineage === undefined) await background.resume()
    return new ContractSession(plan, recorder)
  } catch (error) {
    await plan.directory.remove()
    throw error
  }
}

class ContractSession implements Session {
  readonly id: string
  readonly tools: SessionToolSet
  readonly requirements: SessionRequirements
  readonly headless: boolean
  readonly #plan: SessionPlan
  readonly #tools: SessionTools
  readonly #scope: Scope
  readonly #recorder: SessionRecorder
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<unknown>>()
  #closed: Promise<void> | undefined

  constructor(plan: SessionPlan, recorder: SessionRecorder) {
    const { host } = plan.self
    this.id = host.sessionId
    this.headless = host.headless
    this.requirements = plan.requirements
    this.#plan = plan
    this.#recorder = recorder
    this.#tools = new SessionTools(plan, (tool, args, how) => this.call(tool, args, how))
    this.#scope = planScope(plan, (query, signal) => this.#tools.search(query, signal))
    this.tools = this.#tools.toolSet as unknown as SessionToolSet
  }

  get registered(): readonly ContractTool[] {
    return this.#tools.all
  }

  get skills(): readonly SkillEntry[] {
    return this.#plan.self.skills.entries
  }

  get warnings(): readonly string[] {
    return [...this.#plan.warnings, ...this.#plan.self.skills.warnings, ...this.#tools.warnings]
  }

  get scratch(): string {
    return this.#plan.scratch.path
  }

  scratchPrompt(): string {
    return this.#plan.scratch.prompt()
  }

  async promote(path: string, destination: string): Promise<string> {
    checked('session.promote', () => {
      checkText('path', path)
      checkText('destination', destination)
    })
    return this.#plan.scratch.promote(path, destination)
  }

  openFile(path: string): void {
    this.#changeFiles('session.openFile', path, (file) => this.#plan.self.access.adHoc.open(file))
  }

  closeFile(path: string): void {
    this.#changeFiles('session.closeFile', path, (file) => this.#plan.self.access.adHoc.close(file))
  }

  #changeFiles(caller: string, path: string, change: (file: string) => void): void {
    checked(caller, () => {
      if (this.#closed !== undefined) throw invalid('The session has been closed.')
      if (!isNames([path])) throw invalid('path must be a non-empty string.')
      change(path)
    })
  }

  skillsPrompt(): string {
    return this.#plan.self.skills.prompt()
  }

  projectInstructions(): Promise<string> {
    return projectInstructions(this.#plan.self.access.roots)
  }

  readonly prepareStep: PrepareStep = async <NAME extends string>(step: { messages: ModelMessage[] }) => {
    const messages = checked('session.prepareStep', () => {
      if (!Array.isArray(step?.messages)) throw invalid('A step must be an object with messages, as the AI SDK gives it.')
      return step.messages
    })
    const activeTools = (await this.#tools.nextStep(this.#closing.signal)) as NAME[]
    const more = await this.#plan.team.background.into(messages)
    return more === undefined ? { activeTools } : { activeTools, messages: more }
  }

  call<ID extends string>(id: ID, args: unknown, options: CallOptions = {}): Promise<Envelope<ToolData<ID>>> {
    return this.#callTracked(id, args, options) as Promise<Envelope<ToolData<ID>>>
  }

  async #callTracked(id: string, args: unknown, options: CallOptions): Promise<Envelope> {
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
    const work = this.#run(typeof id === 'string' ? id : typeof id, args, callIdOf(callId), signal)
    this.#running.add(work)
    try {
      return await work
    } finally {
      this.#running.delete(work)
    }
  }

  async #run(id: string, args: unknown, callId: string, signal: AbortSignal | undefined): Promise<Envelope> {
    const registered = this.#tools.get(id)
    const either = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal])
    return runCall(this.#scope, this.#recorder, { id: callId, registered, args, signal: either })
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#closing.abort(new ContractFailure('aborted', 'The call was aborted: the session has been closed.'))
    const { team, mcp } = this.#plan
    // Close the team again after all calls: one of them may have begun a task meanwhile.
    const all = Promise.allSettled([...this.#running, team.close(), mcp.close()]).then(() => team.close())
    await unlessAborted(all, AbortSignal.timeout(CLOSE_MS)).catch(() => undefined)
    // The removal of a large directory continues in the background.
    await unlessAborted(this.#plan.directory.remove(), AbortSignal.timeout(CLOSE_MS)).catch(() => undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/** Hosts may number their calls. */
const callIdOf = (callId: unknown): string => (typeof callId === 'string' || typeof callId === 'number' ? String(callId) : uuidV7())

const closedText = 'The session has been closed. No more calls can be made in it.'
