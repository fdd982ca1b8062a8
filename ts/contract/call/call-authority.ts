import { resolve } from 'node:path'
import type { ContractRules, OpenedTarget } from '../../../index.js'
import { ownCopyOf } from '../../core/argument-copy.js'
import { ToolError } from '../../core/errors.js'
import { ContractFailure } from '../registry/codes.js'
import type { CallTarget, ContractTool, FileAccess } from '../registry/contract-tool.js'
import { subjectsOf, textSubject, withFreeSteps, type RequestedTarget } from './call-target.js'
import { failureOf, thrownText } from '../registry/envelope.js'
import type { SessionPolicy } from '../permissions/session-policy.js'
import { enter, leave, type OpenCall, withDescriptor } from './open-calls.js'
import { deniedByRule, deniedUnattended, rejectedByUser, unanswered, whyRestricted } from '../permissions/decide.js'
import { checkAnswer, type PromptAnswer } from '../permissions/prompt.js'
import type { PermissionRules, PermissionVerdict, Subject } from '../permissions/rule-store.js'
import { suggestedRules } from '../permissions/suggested-rules.js'
import { keepOverwritten, textBefore } from './overwritten-text.js'
import { withPathAdvice } from './path-advice.js'
import { isEmptySet } from '../registry/requirements.js'
import type { SessionCore } from '../session/session-core.js'
import { checkShellSyntax, grammarOf } from './shell.js'
import { askWatchdog, type Verdict, type WatchedRedirect, watchdogRefusal } from '../watchdogs/watchdog.js'
import { withinTime } from '../../core/within-time.js'

// Capabilities decide first, then rules, then the watchdog, then the user.
export class CallAuthority {
  /** What may be done since the call began, whatever is opened and closed meanwhile. */
  readonly policy: SessionPolicy
  readonly #rules: PermissionRules
  readonly #core: SessionCore
  readonly #tool: ContractTool
  readonly #args: unknown
  readonly #callId: string
  readonly #signal: AbortSignal
  readonly #held: RequestedTarget[] = []
  /** Whether it is counted among those that hold files. */
  #open: OpenCall | undefined
  #over = false

  constructor(core: SessionCore, tool: ContractTool, args: unknown, callId: string, signal: AbortSignal) {
    this.policy = core.policy
    this.#rules = core.rules.now()
    this.#core = core
    this.#tool = tool
    this.#args = args
    this.#callId = callId
    this.#signal = signal
  }

  /**
   * Opens what the call says that it will touch, and checks the capabilities for what was opened.
   *
   * @throws {ContractFailure} capability_refused
   */
  async prepare(): Promise<void> {
    for (const name of this.#tool.requires.capabilities ?? []) {
      asRefusal(() => this.policy.checkCapability(name))
    }
    const targets = this.#tool.targets?.(this.#args) ?? []
    if (targets.length > 0) this.#open = await enter(this.#signal)
    for (const target of targets) {
      this.#held.push({ ...(await this.#hold(target)), agreed: true })
      if (target.kind === 'file' && target.everywhere === true) await this.#holdOtherRoots()
    }
  }

  /** So that one answer is for all of them. What is closed is left out: it is no part of the workspace for this call. */
  async #holdOtherRoots(): Promise<void> {
    for (const path of this.#core.roots.slice(1)) {
      const held = await orClosed(this.#hold({ kind: 'file', path, access: 'search' }))
      if (held === undefined) continue
      const isClosed = this.#verdict([held]).action === 'deny'
      if (isClosed) held.opened?.close()
      else this.#held.push({ ...held, agreed: true })
    }
  }

  /**
   * Asks rules, watchdog and user.
   *
   * @throws {ContractFailure} for every answer but yes.
   */
  async decide(): Promise<void> {
    const verdict = this.#verdict(this.#held, this.#named())
    if (verdict.action === 'deny') throw this.#denied(verdict)
    const watched = await this.#watch()
    if (watched.action === 'deny') throw watchdogRefusal(watched)
    if (!mustAsk(verdict, watched)) return
    const byUser = await this.#ask(this.#held, this.#named(), watched)
    for (const held of this.#held) held.byUser = byUser
  }

  /** The file or directory at a path: as it was opened before the call, or else opened and decided on now. */
  async open(path: string, access: FileAccess): Promise<OpenedTarget> {
    return this.#openedOf(await this.#file(path, access))
  }

  /** The rules for what a search meets on its way. */
  get forSearches(): ContractRules[] {
    return this.#rules.chain.map(({ compiled }) => compiled)
  }

  /**
   * As {@link open}, for a search; without a path, of all roots. `agreed` when the user has agreed to it, and so to
   * what rules ask about in there.
   */
  async search(path: string | undefined): Promise<{ target: OpenedTarget; also: OpenedTarget[]; agreed: boolean }> {
    const first = await this.#file(path ?? '.', 'search')
    const others = path === undefined ? await this.#otherRoots() : []
    const target = await this.#openedOf(first)
    const also = await Promise.all(others.map((one) => this.#openedOf(one)))
    return { target, also, agreed: [first, ...others].every(({ byUser }) => byUser) }
  }

  /** Those that relative paths do not lead to, as far as they are open. */
  async #otherRoots(): Promise<RequestedTarget[]> {
    const found: RequestedTarget[] = []
    for (const root of this.#core.roots.slice(1)) {
      const held = await orClosed(this.#file(root, 'search'))
      if (held !== undefined) found.push(held)
    }
    return found
  }

  async #file(path: string, access: FileAccess): Promise<RequestedTarget> {
    const known = this.#held.find(
      ({ target, agreed }) => agreed && target.kind === 'file' && target.path === path && target.access === access,
    )
    return known ?? (await this.#add({ kind: 'file', path, access }))
  }

  /** A capability that is required by name, on something: as it was said before the call, or else decided on now. */
  async use(name: string, resource: string): Promise<void> {
    if (this.#tool.requires.capabilities?.includes(name) !== true) {
      throw new ContractFailure('capability_refused', `The tool ${this.#tool.id} does not require the capability ${name}.`)
    }
    const isIt = ({ target, agreed }: RequestedTarget): boolean =>
      agreed && target.kind === 'capability' && target.name === name && target.resource === resource
    if (!this.#held.some(isIt)) await this.#add({ kind: 'capability', name, resource })
  }

  /** The directory in which a command line may run. */
  async command(command: string, workdir: string | undefined): Promise<OpenedTarget> {
    const isIt = (target: CallTarget): boolean => target.kind === 'command' && target.command === command && target.workdir === workdir
    return this.#openedOf(
      this.#held.find(({ target, agreed }) => agreed && isIt(target)) ?? (await this.#add({ kind: 'command', command, workdir })),
    )
  }

  async #openedOf({ opened, error, target }: RequestedTarget): Promise<OpenedTarget> {
    if (error === undefined) return opened as OpenedTarget
    const { roots, tools } = this.#core
    throw await withPathAdvice(error, this.#tool.id, target, {
      roots,
      hasTool: (id) => tools.has(id),
      mayName: (path) => this.#mayRead(path),
    })
  }

  /** Whether a path is there, and may be read without asking anybody. */
  async #mayRead(path: string): Promise<boolean> {
    const held = await this.#hold({ kind: 'file', path, access: 'search' }).catch(() => undefined)
    held?.opened?.close()
    return held !== undefined && held.error === undefined && this.#verdict([held]).action === 'allow'
  }

  /** A host of the web, before it is dialled: as it was named before the call, or else decided on now. */
  async reach(host: string, port: number): Promise<void> {
    const isIt = ({ target, agreed }: RequestedTarget): boolean =>
      agreed && target.kind === 'host' && target.host === host && target.port === port
    if (!this.#held.some(isIt)) await this.#add({ kind: 'host', host, port })
  }

  /** Closes everything that was opened. What a tool goes on with when its call is over, it may not do. */
  release(): void {
    this.#over = true
    leave(this.#open)
    for (const { opened } of this.#held.splice(0)) opened?.close()
  }

  /** What a tool touches that has not said so before. The watchdog has seen the call, and is not asked again. */
  async #add(target: CallTarget): Promise<RequestedTarget> {
    const held = await this.#hold(target)
    this.#held.push(held)
    const verdict = this.#verdict([held])
    if (verdict.action === 'deny') throw this.#denied(verdict)
    // Whoever agreed to the call agreed to what no rule mentions.
    const isMentioned = verdict.subjects.some(({ action, rule }) => action === 'ask' && rule !== undefined)
    // But not to wherever a page leads.
    const asks = verdict.action === 'ask' && (isMentioned || target.kind === 'host')
    if (asks) held.byUser = await this.#ask([held], [], { action: 'allow' })
    this.#checkRunning()
    held.agreed = true
    return held
  }

  #checkRunning(): void {
    if (this.#over)
      throw new ContractFailure('aborted', `The call of ${this.#tool.id} is over: what it does has to be awaited before it returns.`)
  }

  async #hold(target: CallTarget): Promise<RequestedTarget> {
    this.#checkRunning()
    const { policy } = this
    const { shell } = this.#core
    const undecided = { target, opened: undefined, error: undefined, agreed: false, byUser: false }
    if (target.kind === 'host') {
      asRefusal(() => policy.checkHost(target.host, target.port))
      return { ...undecided, subjects: subjectsOf(target, '', shell) }
    }
    if (target.kind === 'capability') {
      asRefusal(() => policy.checkCapability(target.name))
      return { ...undecided, subjects: subjectsOf(target, '', shell) }
    }
    if (target.kind === 'command') {
      checkShellSyntax(policy.addon, shell, target.command)
      asRefusal(() => policy.checkCommand(target.command, grammarOf(shell)))
    }
    const path = target.kind === 'command' ? (target.workdir ?? '.') : target.path
    const access = target.kind === 'command' ? 'workdir' : target.access
    try {
      const opened = await withDescriptor(() => policy.open(path, access, this.#signal), this.#signal)
      if (this.#over) opened.close()
      this.#checkRunning()
      const subjects = subjectsOf(target, opened.realPath, shell).map((subject) => ({
        ...withFreeSteps(subject, opened.realPath, this.#core),
        implicit: opened.implicit,
      }))
      return { ...undecided, opened, subjects }
    } catch (error) {
      if (!ToolError.isInstance(error) || isRefusal(error)) throw asFailure(error)
      const [root = '/'] = this.#core.roots
      const { realPath = resolve(root, path) } = error.details
      return { ...undecided, error, subjects: subjectsOf(target, String(realPath), shell) }
    }
  }

  /** What the rules say of files and commands, and of what else the tool requires by name. */
  #verdict(held: readonly RequestedTarget[], named: readonly Subject[] = []): PermissionVerdict {
    const { id, requires } = this.#tool
    const touched = held.flatMap(({ subjects }) => subjects)
    return this.#rules.evaluate(id, [...touched, ...named], isEmptySet(requires))
  }

  /** The refusal of a rule, with the path as the model wrote it: where its links lead is not told. */
  #denied({ decisive }: PermissionVerdict): ContractFailure {
    const { id } = this.#tool
    return deniedByRule(
      decisive && { ...decisive, resource: this.#asWritten(decisive.resource) },
      id,
      whyRestricted(this.#rules, id, decisive, grammarOf(this.#core.shell)),
    )
  }

  #asWritten(resource: string): string {
    const held = this.#held.find(
      ({ target, subjects }) => target.kind === 'file' && subjects.some((subject) => subject.resource === resource),
    )
    return held?.target.kind === 'file' ? held.target.path : resource
  }

  /** The capabilities that the tool requires by name. */
  #named(): Subject[] {
    // A target says more than the name: which host.
    const told = new Set(this.#held.flatMap(({ subjects }) => subjects.map(({ capability }) => capability)))
    return (this.#tool.requires.capabilities ?? []).filter((name) => !told.has(name)).map(textSubject)
  }

  async #watch(): Promise<Verdict> {
    const { policy } = this
    const { watchdog, manifest, id, limits, shell } = this.#core
    if (watchdog === undefined) return { action: 'allow' }
    const commands = this.#held.flatMap(({ target }) =>
      target.kind === 'command' ? policy.addon.parseCommandLine(target.command, grammarOf(shell)).commands : [],
    )
    const call = {
      tool: this.#tool.id,
      args: ownCopyOf(this.#args),
      manifest,
      session_id: id,
      call_id: this.#callId,
      commands: commands.map(({ text, argv, redirects, restricted }) => ({
        text,
        argv,
        redirects: redirects.map(({ operator, path }) => ({ operator: operator as WatchedRedirect['operator'], path: path ?? null })),
        restricted,
      })),
    }
    return askWatchdog(watchdog, call, limits.watchdogMs, this.#signal)
  }

  /** Whether the user was asked, and not answered already by a call before. */
  async #ask(held: readonly RequestedTarget[], named: readonly Subject[], watched: Verdict): Promise<boolean> {
    const { headless, prompts, host } = this.#core
    const { prompt } = host
    if (headless || prompt === undefined) {
      const open = this.#verdict(held, named).subjects.find(({ action }) => action === 'ask')
      const { id } = this.#tool
      throw deniedUnattended(
        open && { ...open, resource: this.#asWritten(open.resource) },
        id,
        watched.reason,
        whyRestricted(this.#rules, id, open, grammarOf(this.#core.shell)),
      )
    }
    // Nobody waits for a call that waits for a person.
    leave(this.#open)
    return prompts.inTurn(async () => {
      // An answer to a call before may have answered this one.
      const verdict = this.#verdict(held, named)
      if (verdict.action === 'deny') throw this.#denied(verdict)
      if (!mustAsk(verdict, watched)) return false
      const all = [...held.flatMap(({ subjects }) => subjects), ...named]
      await this.#prompt(all.length === 0 ? [textSubject(this.#tool.id)] : all, verdict, watched)
      return true
    }, this.#signal)
  }

  async #prompt(touched: readonly Subject[], verdict: PermissionVerdict, watched: Verdict): Promise<void> {
    const { id: tool } = this.#tool
    const { host, limits, id: session_id, roots } = this.#core
    const rules = suggestedRules(this.policy.addon, tool, touched, roots)
    const subjects = verdict.subjects.map(({ capability, resource, restricted: why }) => ({ capability, resource, why }))
    const args: unknown = ownCopyOf(this.#args)
    const asked = { session_id, call_id: this.#callId, tool, args, subjects, reason: watched.reason, rules }
    const late = (): Error => unanswered(tool, limits.promptMs)
    // For the diff that the user is shown.
    const before = tool === 'write' ? await textBefore(this.#held[0]?.opened, this.#signal) : undefined
    let answer: ReturnType<typeof checkAnswer>
    try {
      const given = withinTime(
        (signal) => host.prompt?.(keepOverwritten({ ...asked, signal: signal() }, before)),
        limits.promptMs,
        this.#signal,
        late,
      )
      answer = checkAnswer(await given)
      this.#keep(answer, rules)
    } catch (error) {
      this.#signal.throwIfAborted()
      if (ContractFailure.isInstance(error)) throw error
      throw new ContractFailure('permission_rejected', 'The permission prompt failed, which refuses the call.', { cause: error })
    }
    if (answer.decision.startsWith('reject')) throw rejectedByUser(tool)
  }

  /** An `always` is kept as rules. */
  #keep(answer: PromptAnswer & { scope: 'session' | 'project' }, suggested: PromptAnswer['rules']): void {
    if (!answer.decision.endsWith('_always')) return
    const action = answer.decision === 'allow_always' ? 'allow' : 'deny'
    for (const { permission, pattern } of answer.rules ?? suggested ?? []) {
      const stored = this.#rules.record({ permission, pattern, action }, answer.scope)
      try {
        this.#core.onRule?.(stored)
      } catch (error) {
        // The rule holds in this session; that the host could not keep it is the host's to know.
        process.emitWarning(`toolwright: onRule failed: ${thrownText(error)}`)
      }
    }
  }
}

/** A watchdog's question is answered by a rule that the user made, and not by one of the manifest. */
function mustAsk(verdict: PermissionVerdict, watched: Verdict): boolean {
  return verdict.action === 'ask' || (watched.action === 'ask' && !verdict.userAllowed)
}

/** Nothing for what capabilities or rules close. */
async function orClosed(held: Promise<RequestedTarget>): Promise<RequestedTarget | undefined> {
  try {
    return await held
  } catch (error) {
    if (['capability_refused', 'permission_denied'].includes(failureOf(error).code)) return undefined
    throw error
  }
}

/** Errors that say that the path is nobody's business here. */
const outOfScope: ReadonlySet<string> = new Set(['CAPABILITY_DENIED', 'TOOL_PATH_ESCAPE'])

const isRefusal = (error: ToolError): boolean => outOfScope.has(error.code) || error.code === 'TOOL_PATH_PROTECTED'
function asFailure(error: unknown): unknown {
  if (!ToolError.isInstance(error) || !outOfScope.has(error.code)) return error
  return new ContractFailure('capability_refused', error.message, { cause: error })
}

function asRefusal(check: () => void): void {
  try {
    check()
  } catch (error) {
    throw asFailure(error)
  }
}
