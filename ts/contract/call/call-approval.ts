import { ownCopyOf } from '../../core/argument-copy.js'
import { withinTime } from '../../core/abort.js'
import { traceStep } from '../../core/call-channel.js'
import { tellListener } from '../../core/listeners.js'
import { checkAnswer, type Prompt, type PromptAnswer, suggestedRules } from '../permissions/prompt.js'
import { approvalUnfit, deniedByRule, deniedUnattended, rejectedByUser, unanswered, whyRestricted } from '../permissions/refusals.js'
import type { Rule } from '../permissions/rule.js'
import type { CurrentRules, PermissionVerdict, Subject, SubjectVerdict } from '../permissions/rule-store.js'
import { ContractFailure, thrownText } from '../registry/envelope.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { isEmptySet } from '../registry/requirements.js'
import { askWatchdog, type Verdict, type WatchedRedirect, watchdogRefusal } from '../watchdogs/watchdog.js'
import { type RequestedTarget, textSubject } from './call-target.js'
import { attachOverwritten, textBefore } from './overwritten-text.js'
import type { CallInQuestion } from './approvals.js'
import type { Judgement } from './judgement.js'
import type { Scope } from './scope.js'
import { grammarOf } from './shell.js'

export interface ControlledCall {
  id: string
  tool: ContractTool
  args: unknown
  signal: AbortSignal
  /** Whether the messages of the call hold the user's approval of it. */
  isApproved?: boolean | undefined
  /** Told how long the call waited for the user. */
  onWaited?: ((ms: number) => void) | undefined
}

/** Asks the rules, the watchdog and the user whether a call may be made. */
export class CallApproval {
  readonly rules: CurrentRules
  readonly #scope: Scope
  readonly #call: ControlledCall
  readonly #targets: readonly RequestedTarget[]
  readonly #beforePrompt: () => void

  constructor(scope: Scope, call: ControlledCall, targets: readonly RequestedTarget[], beforePrompt: () => void) {
    this.rules = scope.access.rules.now()
    this.#scope = scope
    this.#call = call
    this.#targets = targets
    this.#beforePrompt = beforePrompt
  }

  /**
   * Decides on the call with the targets that it declared.
   *
   * @returns whether the user was asked; `false` when the answer to an earlier call covers this one.
   * @throws {ContractFailure} unless rules, watchdog and user agree.
   */
  async decide(): Promise<boolean> {
    const named = this.#requiredByName()
    const verdict = this.evaluate(this.#targets, named)
    if (verdict.action === 'deny') throw this.#denied(verdict)
    const watched = await this.#askWatchdog()
    if (watched.action === 'deny') throw watchdogRefusal(watched)
    return mustPrompt(verdict, watched) && this.#prompt(this.#targets, named, watched)
  }

  /** What {@link decide} would come to, without asking the user. */
  async judge(): Promise<Judgement> {
    const named = this.#requiredByName()
    const verdict = this.evaluate(this.#targets, named)
    const { tool } = this.#call
    const touched = this.#touched(this.#targets, named)
    const subjects = verdict.subjects.map(({ capability, resource, action, restricted: why }) => ({ capability, resource, action, why }))
    const rules = suggestedRules(this.#scope.access.addon, tool.id, touched, this.#scope.access.roots)
    if (verdict.action === 'deny') return { ...refused(this.#denied(verdict)), subjects, rules: [] }
    const watched = await this.#askWatchdog()
    if (watched.action === 'deny') return { ...refused(watchdogRefusal(watched)), subjects, rules: [] }
    return { action: mustPrompt(verdict, watched) ? 'ask' : 'allow', subjects, reason: watched.reason, rules }
  }

  /** What the user is asked about: the targets and capabilities, or the tool itself if it touches nothing. */
  #touched(targets: readonly RequestedTarget[], named: readonly Subject[]): Subject[] {
    const touched = [...targets.flatMap(({ subjects }) => subjects), ...named]
    return touched.length === 0 ? [textSubject(this.#call.tool.id)] : touched
  }

  /**
   * Remembers that the user is asked about the call elsewhere, and answers later.
   *
   * @throws {ContractFailure} recording_failed: an answer to a question that is not recorded would count for nothing.
   */
  async askLater(reason: string | undefined): Promise<void> {
    const touched = this.#touched(this.#targets, this.#requiredByName())
    await approvalRecorded('The question', () => this.#scope.approvals.ask(this.#inQuestion(touched, reason)))
  }

  /** Remembers what the host was told of the call. */
  remember(reason: string | undefined): void {
    this.#scope.approvals.judged(this.#inQuestion(this.#touched(this.#targets, this.#requiredByName()), reason))
  }

  #inQuestion(touched: readonly Subject[], reason: string | undefined): CallInQuestion {
    const { id, tool, args } = this.#call
    return { id, tool: tool.id, args, touched, reason }
  }

  /** As {@link decide}, on a target that the tool did not declare. The watchdog has seen the call, and is not asked again. */
  async decideOn(requested: RequestedTarget, given?: AbortSignal): Promise<boolean> {
    return this.leavesToUser(requested) && this.#prompt([requested], [], { action: 'allow' }, given)
  }

  /** Whether rules leave a target that the tool did not declare to the user. @throws {ContractFailure} permission_denied */
  leavesToUser(requested: RequestedTarget): boolean {
    const verdict = this.evaluate([requested])
    if (verdict.action === 'deny') throw this.#denied(verdict)
    // Agreement with the call covers what no rule mentions, but not every host that a page leads to.
    const isMentioned = verdict.subjects.some(({ action, rule }) => action === 'ask' && rule !== undefined)
    return verdict.action === 'ask' && (isMentioned || requested.target.kind === 'host')
  }

  evaluate(targets: readonly RequestedTarget[], named: readonly Subject[] = []): PermissionVerdict {
    const { id, requires } = this.#call.tool
    return this.rules.evaluate(id, [...targets.flatMap(({ subjects }) => subjects), ...named], isEmptySet(requires))
  }

  #denied({ decisive }: PermissionVerdict): ContractFailure {
    return deniedByRule(this.#asWritten(decisive), this.#call.tool.id, this.#whyRestricted(decisive))
  }

  #whyRestricted(verdict: SubjectVerdict | undefined): string | undefined {
    return whyRestricted(this.rules, this.#call.tool.id, verdict, grammarOf(this.#scope.host.shell))
  }

  /** The verdict with the path as the model wrote it, which hides where links lead. */
  #asWritten(verdict: SubjectVerdict | undefined): SubjectVerdict | undefined {
    const isOf = ({ resource }: Subject): boolean => resource === verdict?.resource
    const target = this.#targets.find((requested) => requested.target.kind === 'file' && requested.subjects.some(isOf))?.target
    return verdict !== undefined && target?.kind === 'file' ? { ...verdict, resource: target.path } : verdict
  }

  /** The capabilities that the tool requires by name, except those that a target names together with a resource. */
  #requiredByName(): Subject[] {
    const covered = new Set(this.#targets.flatMap(({ subjects }) => subjects.map(({ capability }) => capability)))
    return (this.#call.tool.requires.capabilities ?? []).filter((name) => !covered.has(name)).map(textSubject)
  }

  async #askWatchdog(): Promise<Verdict> {
    const { access, host } = this.#scope
    const { watchdog, manifest, sessionId, limits, shell } = host
    if (watchdog === undefined) return { action: 'allow' }
    const { id, tool, args, signal } = this.#call
    const commands = this.#targets.flatMap(({ target }) =>
      target.kind === 'command' || target.kind === 'input'
        ? access.addon.parseCommandLine(target.kind === 'command' ? target.command : target.text, grammarOf(shell))
        : [],
    )
    const call = {
      tool: tool.id,
      args: ownCopyOf(args),
      manifest,
      session_id: sessionId,
      call_id: id,
      commands: commands.map(({ text, argv, redirects, restricted }) => ({
        text,
        argv,
        redirects: redirects.map(({ operator, path }) => ({ operator: operator as WatchedRedirect['operator'], path: path ?? null })),
        restricted,
      })),
    }
    return askWatchdog(watchdog, call, limits.watchdogMs, signal)
  }

  async #prompt(targets: readonly RequestedTarget[], named: readonly Subject[], watched: Verdict, given?: AbortSignal): Promise<boolean> {
    const { access, host, approvals } = this.#scope
    const { tool, isApproved = false, onWaited } = this.#call
    const signal = given ?? this.#call.signal
    const { prompt } = host
    const touched = this.#touched(targets, named)
    const inQuestion = this.#inQuestion(touched, watched.reason)
    const approval = await approvalRecorded('The use of the approval', () => approvals.take(inQuestion, isApproved))
    if (approval === undefined && (host.headless || prompt === undefined)) {
      const open = this.evaluate(targets, named).subjects.find(({ action }) => action === 'ask')
      if (isApproved) throw approvalUnfit(tool.id)
      throw deniedUnattended(this.#asWritten(open), tool.id, watched.reason, this.#whyRestricted(open))
    }
    const ask = approval === undefined ? (prompt as Prompt) : () => approval
    this.#beforePrompt()
    const answered = async (): Promise<boolean> => {
      // The answer to the prompt before this one may have been a rule.
      const verdict = this.evaluate(targets, named)
      if (verdict.action === 'deny') throw this.#denied(verdict)
      if (!mustPrompt(verdict, watched)) return false
      await this.#ask(ask, touched, verdict, watched.reason, signal)
      return true
    }
    // Nobody waits for an answer that is there.
    if (approval !== undefined) return access.prompts.run(answered, signal)
    const startedMs = performance.now()
    try {
      return await traceStep('permission', {}, () => access.prompts.run(answered, signal))
    } finally {
      onWaited?.(performance.now() - startedMs)
    }
  }

  /** Asks the user. An `always` is recorded as rules, which cover the touched subjects. */
  async #ask(
    prompt: Prompt,
    touched: readonly Subject[],
    verdict: PermissionVerdict,
    reason: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { access, host } = this.#scope
    const { id, tool, args } = this.#call
    const rules = suggestedRules(access.addon, tool.id, touched, access.roots)
    const subjects = verdict.subjects.map(({ capability, resource, restricted: why }) => ({ capability, resource, why }))
    const request = { session_id: host.sessionId, call_id: id, tool: tool.id, args: ownCopyOf(args), subjects, reason, rules }
    // The user sees what is overwritten as a diff.
    const before = tool.id === 'write' ? await textBefore(this.#targets[0]?.opened, signal) : undefined
    const show = (either: () => AbortSignal): ReturnType<Prompt> => prompt(attachOverwritten({ ...request, signal: either() }, before))
    let answer: ReturnType<typeof checkAnswer>
    try {
      answer = checkAnswer(await withinTime(show, host.limits.promptMs, signal, () => unanswered(tool.id, host.limits.promptMs)))
      if (answer.decision.endsWith('_always')) this.#recordRules(answer, answer.rules ?? rules)
    } catch (error) {
      signal.throwIfAborted()
      if (ContractFailure.isInstance(error)) throw error
      throw new ContractFailure('permission_rejected', 'The permission prompt failed, which refuses the call.', { cause: error })
    }
    if (answer.decision.startsWith('reject')) throw rejectedByUser(tool.id)
  }

  #recordRules({ decision, scope }: ReturnType<typeof checkAnswer>, rules: NonNullable<PromptAnswer['rules']>): void {
    const action = decision === 'allow_always' ? 'allow' : 'deny'
    recordRules(
      this.#scope,
      rules.map(({ permission, pattern }) => ({ permission, pattern, action })),
      scope,
    )
  }
}

async function approvalRecorded<T>(what: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    const text = `${what} could not be recorded, and the call was not made: ${thrownText(error)}`
    throw new ContractFailure('recording_failed', text, { cause: error })
  }
}

/** Adds rules to a session, all or none, and passes each to the host. */
export function recordRules({ access, host }: Scope, rules: readonly Rule[], source: 'session' | 'project'): void {
  for (const stored of access.rules.record(rules, source)) {
    // The rule holds in this session, although the host failed to store it.
    tellListener('onRule', () => host.onRule?.(stored))
  }
}

/** How a call would fail. */
export function refused({ code, message }: ContractFailure): Pick<Judgement, 'action' | 'code' | 'error_text'> {
  return { action: 'deny', code, error_text: message }
}

/** A rule of the user answers a watchdog's question; a rule of the manifest does not. */
function mustPrompt(verdict: PermissionVerdict, watched: Verdict): boolean {
  return verdict.action === 'ask' || (watched.action === 'ask' && !verdict.userAllowed)
}
