import { dirname } from 'node:path'
import type { ModelMessage } from 'ai'
import type { Checkpoints } from '../../journal/checkpoints/checkpoints.js'
import { planScope, planSession, type SessionPlan } from './plan-session.js'
import { askedCall, type ToolApproval } from '../../core/tool-approval.js'
import type { CallOptions } from '../call/run-call.js'
import type { PrepareStep, Session, SessionForks } from './session.js'
import type { OpenChild } from './agent-team.js'
import { childOptions, type Lineage } from './lineage.js'
import { uuidV7 } from '../../core/clock.js'
import { noteWritablePlace } from '../../core/writable-places.js'
import { callable, checked, closedSession, invalid, isNames, optional, text } from '../../core/options.js'
import { unlessAborted } from '../../core/abort.js'
import type { SessionToolSet, ToolData } from '../tools/built-in-tools.js'
import type { Envelope } from '../registry/envelope.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { SessionRecorder } from '../journal/session-recorder.js'
import type { SessionRequirements } from '../registry/requirements.js'
import { Approvals } from '../call/approvals.js'
import type { CallObserver } from '../call/call-observers.js'
import { recordRules } from '../call/call-approval.js'
import { isAsked } from '../../core/message-approvals.js'
import { type Judgement, questionOf } from '../call/judgement.js'
import type { Scope } from '../call/scope.js'
import { parsedAnswer, type PromptAnswer, type PromptDecision } from '../permissions/prompt.js'
import { type Rule, rulesThatAllow } from '../permissions/rule.js'
import { SessionCalls } from '../call/run-call.js'
import { parseSessionOptions, type SessionOptions } from './session-options.js'
import { tellEnds } from './process-records.js'
import { SessionTools } from './session-tools.js'
import { projectInstructions } from '../skills/project-instructions.js'
import type { McpServerState } from '../mcp/mcp-servers.js'
import type { Fork } from '../../fork/fork.js'
import type { SkillEntry } from '../skills/skill-index.js'
import { leaveFork } from './session-fork.js'

/** How long `close` waits for calls that do not end. */
const CLOSE_MS = 5_000

/** Opens a session; with a lineage, that of a subagent. */
export async function openSession(input: SessionOptions, lineage?: Lineage): Promise<Session> {
  const options = parseSessionOptions(input)
  const { id = uuidV7(), journal, onRecord, workspace, adHoc, userData } = options
  // Commands of the session write where its tools may.
  const patterns = options.manifest.requires?.fs?.write ?? []
  const written = patterns.filter((pattern) => pattern.startsWith('/')).map((pattern) => dirname(pattern.replace(/[*?[{].*$/su, '')))
  for (const path of [...written, ...workspace, ...adHoc, ...(userData === undefined ? [] : [userData])]) noteWritablePlace(path)
  const openChild: OpenChild = (from, note) => openSession(childOptions(options, from, note), from)
  const plan = await planSession(id, options, openChild, lineage)
  let recorder: SessionRecorder | undefined
  try {
    const { background } = plan.team
    recorder = await SessionRecorder.open({ sessionId: id, agent: options.manifest.name, place: plan.self.place, journal, onRecord })
    if (recorder.background !== undefined) background.recordIn(recorder.background)
    // A subagent begins afresh, also where an earlier one had the same id.
    if (lineage === undefined) plan.processes.continueAfter(await background.resume())
    return new ContractSession(plan, recorder)
  } catch (error) {
    await recorder?.close()
    await plan.directory.remove()
    await plan.ownFork?.discard()
    throw error
  }
}

class ContractSession implements Session {
  readonly id: string
  readonly tools: SessionToolSet
  readonly requirements: SessionRequirements
  readonly headless: boolean
  readonly #plan: SessionPlan
  readonly #scope: Scope
  readonly #tools: SessionTools
  readonly #calls: SessionCalls
  readonly #recorder: SessionRecorder
  #closed: Promise<void> | undefined

  constructor(plan: SessionPlan, recorder: SessionRecorder) {
    const { host } = plan.self
    this.id = host.sessionId
    this.headless = host.headless
    this.requirements = plan.requirements
    this.#plan = plan
    this.#recorder = recorder
    this.#scope = planScope(plan, new Approvals(recorder.approvals), (query, signal) => this.#tools.search(query, signal))
    this.#calls = new SessionCalls(this.#scope, recorder, (id) => this.#tools.get(id))
    this.#tools = new SessionTools(plan, this.#calls.executorOf)
    this.tools = this.#tools.toolSet as unknown as SessionToolSet
  }

  get registered(): readonly ContractTool[] {
    return this.#tools.all
  }

  get skills(): readonly SkillEntry[] {
    return this.#plan.self.skills.entries
  }

  get mcpServers(): readonly McpServerState[] {
    return this.#plan.mcp.states
  }

  get warnings(): readonly string[] {
    return [...this.#plan.warnings, ...this.#plan.self.skills.warnings, ...this.#tools.warnings]
  }

  get checkpoints(): Checkpoints | undefined {
    return this.#plan.self.host.checkpoints?.checkpoints
  }

  get fork(): Fork | undefined {
    return this.#plan.self.access.fork
  }

  get forks(): SessionForks {
    return this.#plan.self.tree.forks
  }

  get scratch(): string {
    return this.#plan.scratch.path
  }

  scratchPrompt(): string {
    return this.#plan.scratch.prompt()
  }

  async promote(path: string, destination: string): Promise<string> {
    checked('session.promote', () => {
      text(path, 'path')
      text(destination, 'destination')
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
      if (this.#closed !== undefined) throw closedSession()
      if (!isNames([path])) throw invalid('path must be a non-empty string.')
      change(path)
    })
  }

  detachProcess(processId: string, owner: string): Promise<string> {
    this.#checkProcesses('session.detachProcess', processId, owner)
    return this.#plan.processes.detach(processId, owner)
  }

  resumeProcesses(owner: string): string[] {
    this.#checkProcesses('session.resumeProcesses', owner)
    return this.#plan.processes.resume(owner)
  }

  #checkProcesses(caller: string, ...names: unknown[]): void {
    checked(caller, () => {
      if (this.#closed !== undefined) throw closedSession()
      for (const name of names) if (!isNames([name])) throw invalid('An id and an owner must be non-empty strings.')
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
    await this.#calls.recordDenied(messages)
    // The turns are those of the session, and not of its subagents.
    if (this.#plan.self.depth === 0) await this.#plan.self.host.checkpoints?.nextStep(this.id, messages as ModelMessage[])
    const activeTools = (await this.#tools.nextStep(this.#calls.closing)) as NAME[]
    const { background } = this.#plan.team
    tellEnds(background, this.#plan.processes.takeEnds())
    const more = await background.into(messages)
    return more === undefined ? { activeTools } : { activeTools, messages: more }
  }

  judge(id: string, args: unknown, options: CallOptions = {}): Promise<Judgement> {
    return this.#calls.judge(String(id), args, options)
  }

  readonly toolApproval: ToolApproval = async (options) => {
    const { toolName, callId, input, messages } = askedCall('session.toolApproval', options)
    await this.#calls.recordDenied(messages)
    // The turns are those of the session, and not of its subagents.
    if (this.#plan.self.depth === 0) await this.#plan.self.host.checkpoints?.nextStep(this.id, messages as ModelMessage[])
    // The AI SDK asks again when the answer comes. What a client sends then is compared with the question, and is none.
    const asks = !isAsked(messages, callId)
    const judgement = await this.#calls.judge(toolName, input, { callId }, asks)
    // Without a record of the question no answer would count, so the user is not asked.
    if (judgement.code === 'recording_failed') return { type: 'denied', reason: judgement.error_text ?? '' }
    return judgement.action === 'ask' ? { type: 'user-approval', reason: questionOf(judgement) } : undefined
  }

  agree(callId: string, args: unknown, answer: PromptAnswer | PromptDecision): void {
    checked('session.agree', () => {
      if (this.#closed !== undefined) throw closedSession()
      text(callId, 'callId')
      const parsed = parsedAnswer(answer)
      if (parsed === undefined) throw invalid('answer must be a decision such as allow_once, or an object with decision, scope and rules.')
      this.#scope.approvals.agree(callId, args, parsed)
    })
  }

  allow(rules: readonly Pick<Rule, 'permission' | 'pattern'>[], scope: 'session' | 'project' = 'session'): void {
    checked('session.allow', () => {
      if (this.#closed !== undefined) throw closedSession()
      const allowed = rulesThatAllow(rules, 'rules')
      if (scope !== 'session' && scope !== 'project') throw invalid('scope must be session or project.')
      recordRules(this.#scope, allowed, scope)
    })
  }

  call<ID extends string>(id: ID, args: unknown, options?: CallOptions): Promise<Envelope<ToolData<ID>>> {
    return this.#calls.call(id, args, options) as Promise<Envelope<ToolData<ID>>>
  }

  observe(observer: CallObserver): () => void {
    checked('session.observe', () => {
      if (typeof observer !== 'object' || observer === null) throw invalid('observer must be an object of functions.')
      for (const name of ['onCall', 'onOutput', 'onResult'] as const) optional(callable())(observer[name], name)
    })
    return this.#calls.observers.add(observer)
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    const { team, mcp, processes, self, ownFork } = this.#plan
    const { languageServers, documents, formatters } = self.host
    const helpers = this.#plan.ownsHelpers ? [languageServers?.close(), documents?.close(), formatters?.close()] : []
    // Close the team again after all calls: one of them may have begun a task meanwhile.
    const all = Promise.allSettled([this.#calls.close(), processes.close(), team.close(), mcp.close(), ...helpers]).then(() => team.close())
    await unlessAborted(all, AbortSignal.timeout(CLOSE_MS)).catch(() => undefined)
    await unlessAborted(this.#recorder.close(), AbortSignal.timeout(CLOSE_MS)).catch(() => undefined)
    if (ownFork !== undefined) await unlessAborted(leaveFork(ownFork), AbortSignal.timeout(CLOSE_MS)).catch(() => undefined)
    // The removal of a large directory continues in the background.
    await unlessAborted(this.#plan.directory.remove(), AbortSignal.timeout(CLOSE_MS)).catch(() => undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
