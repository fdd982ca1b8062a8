import { resolve } from 'node:path'
import type { ContractRules, OpenedTarget } from '../../../index.js'
import { ownCopyOf } from '../../core/argument-copy.js'
import { ToolError } from '../../core/errors.js'
import { deniedByRule, deniedUnattended, whyRestricted } from '../permissions/refusals.js'
import type { PermissionRules, PermissionVerdict, Subject } from '../permissions/rule-store.js'
import type { SessionPolicy } from '../permissions/session-policy.js'
import { ContractFailure, failureOf } from '../registry/envelope.js'
import type { CallTarget, ContractTool, FileAccess } from '../registry/contract-tool.js'
import { isEmptySet } from '../registry/requirements.js'
import { askWatchdog, type Verdict, type WatchedRedirect, watchdogRefusal } from '../watchdogs/watchdog.js'
import { promptUser } from './prompt-user.js'
import { type RequestedTarget, subjectsOf, textSubject, exemptFreeSteps } from './call-target.js'
import { acquireSlot, releaseSlot, type CallSlot, withDescriptor } from './call-slots.js'
import { withPathAdvice } from './path-advice.js'
import type { Scope } from './scope.js'
import { checkShellSyntax, grammarOf } from './shell.js'

/** A call whose access is decided. */
export interface ControlledCall {
  id: string
  tool: ContractTool
  args: unknown
  signal: AbortSignal
}

/** A call that runs, with its access. */
export interface CallScope {
  scope: Scope
  access: AccessController
  id: string
  tool: string
  signal: AbortSignal
  /** Receives the text that a file held before the call overwrote it. */
  onOverwritten?: ((before: string | undefined) => void) | undefined
}

/** Decides what one call may touch: first the capabilities, then the rules, then the watchdog, then the user. */
export class AccessController {
  /** The capabilities at the time the call began. Files that are opened or closed later do not change them. */
  readonly policy: SessionPolicy
  readonly #rules: PermissionRules
  readonly #scope: Scope
  readonly #call: ControlledCall
  readonly #targets: RequestedTarget[] = []
  /** Set while the call counts among those that hold files open. */
  #slot: CallSlot | undefined
  #isOver = false

  constructor(scope: Scope, call: ControlledCall) {
    this.policy = scope.access.capabilities.policy
    this.#rules = scope.access.rules.now()
    this.#scope = scope
    this.#call = call
  }

  /**
   * Opens the targets that the tool declares for these arguments, and checks the capabilities for what was opened.
   *
   * @throws {ContractFailure} capability_refused
   */
  async prepare(): Promise<void> {
    const { tool, args, signal } = this.#call
    for (const name of tool.requires.capabilities ?? []) {
      asRefusal(() => this.policy.checkCapability(name))
    }
    const targets = tool.targets?.(args) ?? []
    if (targets.length > 0) this.#slot = await acquireSlot(signal)
    for (const target of targets) {
      this.#targets.push({ ...(await this.#open(target)), approved: true })
      if (target.kind === 'file' && target.everywhere === true) await this.#openOtherRoots()
    }
  }

  /** One answer covers all roots. A closed root is left out: for this call it is not part of the workspace. */
  async #openOtherRoots(): Promise<void> {
    for (const path of this.#scope.access.roots.slice(1)) {
      const target = await unlessClosed(this.#open({ kind: 'file', path, access: 'search' }))
      if (target === undefined) continue
      const isClosed = this.#evaluate([target]).action === 'deny'
      if (isClosed) target.opened?.close()
      else this.#targets.push({ ...target, approved: true })
    }
  }

  /**
   * Asks the rules, the watchdog and the user.
   *
   * @throws {ContractFailure} unless all of them agree.
   */
  async decide(): Promise<void> {
    const verdict = this.#evaluate(this.#targets, this.#requiredByName())
    if (verdict.action === 'deny') throw this.#denied(verdict)
    const watched = await this.#askWatchdog()
    if (watched.action === 'deny') throw watchdogRefusal(watched)
    if (!mustPrompt(verdict, watched)) return
    const approvedByUser = await this.#prompt(this.#targets, this.#requiredByName(), watched)
    for (const target of this.#targets) target.approvedByUser = approvedByUser
  }

  /** The file or directory at a path. A target that the call did not declare is opened and decided on now. */
  async open(path: string, access: FileAccess): Promise<OpenedTarget> {
    return this.#openedOf(await this.#file(path, access))
  }

  /** The rules for the files that a search meets. */
  get forSearches(): ContractRules[] {
    return this.#rules.chain.map(({ compiled }) => compiled)
  }

  /**
   * As {@link open}, for a search; without a path, of all roots. `agreed` says that the user approved the search, and
   * with it the files in it that rules ask about.
   */
  async search(path: string | undefined): Promise<{ target: OpenedTarget; also: OpenedTarget[]; agreed: boolean }> {
    const first = await this.#file(path ?? '.', 'search')
    const others = path === undefined ? await this.#otherRoots() : []
    const target = await this.#openedOf(first)
    const also = await Promise.all(others.map((one) => this.#openedOf(one)))
    return { target, also, agreed: [first, ...others].every(({ approvedByUser }) => approvedByUser) }
  }

  /** The roots after the first one that are open to the call. */
  async #otherRoots(): Promise<RequestedTarget[]> {
    const open: RequestedTarget[] = []
    for (const root of this.#scope.access.roots.slice(1)) {
      const target = await unlessClosed(this.#file(root, 'search'))
      if (target !== undefined) open.push(target)
    }
    return open
  }

  async #file(path: string, access: FileAccess): Promise<RequestedTarget> {
    const isSame = (target: CallTarget): boolean => target.kind === 'file' && target.path === path && target.access === access
    return this.#approved(isSame) ?? (await this.#authorize({ kind: 'file', path, access }))
  }

  /** Uses a capability that the tool requires by name on a resource. */
  async use(name: string, resource: string): Promise<void> {
    const { tool } = this.#call
    if (tool.requires.capabilities?.includes(name) !== true) {
      throw new ContractFailure('capability_refused', `The tool ${tool.id} does not require the capability ${name}.`)
    }
    const isSame = (target: CallTarget): boolean => target.kind === 'capability' && target.name === name && target.resource === resource
    if (this.#approved(isSame) === undefined) await this.#authorize({ kind: 'capability', name, resource })
  }

  /** The directory in which a command line may run. */
  async command(command: string, workdir: string | undefined): Promise<OpenedTarget> {
    const isSame = (target: CallTarget): boolean => target.kind === 'command' && target.command === command && target.workdir === workdir
    return this.#openedOf(this.#approved(isSame) ?? (await this.#authorize({ kind: 'command', command, workdir })))
  }

  /** Checks a host of the web before it is dialled. */
  async reach(host: string, port: number): Promise<void> {
    const isSame = (target: CallTarget): boolean => target.kind === 'host' && target.host === host && target.port === port
    if (this.#approved(isSame) === undefined) await this.#authorize({ kind: 'host', host, port })
  }

  #approved(isSame: (target: CallTarget) => boolean): RequestedTarget | undefined {
    return this.#targets.find(({ target, approved }) => approved && isSame(target))
  }

  async #openedOf({ opened, error, target }: RequestedTarget): Promise<OpenedTarget> {
    if (error === undefined) return opened as OpenedTarget
    const { roots, tools } = this.#scope.access
    throw await withPathAdvice(error, this.#call.tool.id, target, {
      roots,
      hasTool: (id) => tools.has(id),
      mayName: (path) => this.#mayRead(path),
    })
  }

  /** Whether a path exists and may be read without a prompt. */
  async #mayRead(path: string): Promise<boolean> {
    const target = await this.#open({ kind: 'file', path, access: 'search' }).catch(() => undefined)
    target?.opened?.close()
    return target !== undefined && target.error === undefined && this.#evaluate([target]).action === 'allow'
  }

  /** Closes every target. The tool may touch nothing after its call. */
  release(): void {
    this.#isOver = true
    releaseSlot(this.#slot)
    for (const { opened } of this.#targets.splice(0)) opened?.close()
  }

  /** Decides on a target that the tool did not declare. The watchdog has seen the call, and is not asked again. */
  async #authorize(target: CallTarget): Promise<RequestedTarget> {
    const requested = await this.#open(target)
    this.#targets.push(requested)
    const verdict = this.#evaluate([requested])
    if (verdict.action === 'deny') throw this.#denied(verdict)
    // Agreement with the call covers what no rule mentions, but not every host that a page leads to.
    const isMentioned = verdict.subjects.some(({ action, rule }) => action === 'ask' && rule !== undefined)
    const asks = verdict.action === 'ask' && (isMentioned || target.kind === 'host')
    if (asks) requested.approvedByUser = await this.#prompt([requested], [], { action: 'allow' })
    this.#checkRunning()
    requested.approved = true
    return requested
  }

  #checkRunning(): void {
    if (this.#isOver)
      throw new ContractFailure('aborted', `The call of ${this.#call.tool.id} is over: what it does has to be awaited before it returns.`)
  }

  async #open(target: CallTarget): Promise<RequestedTarget> {
    this.#checkRunning()
    const { policy } = this
    const { signal } = this.#call
    const { access, host } = this.#scope
    const { shell } = host
    const undecided = { target, opened: undefined, error: undefined, approved: false, approvedByUser: false }
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
    const fileAccess = target.kind === 'command' ? 'workdir' : target.access
    try {
      const opened = await withDescriptor(() => policy.open(path, fileAccess, signal), signal)
      if (this.#isOver) opened.close()
      this.#checkRunning()
      const { implicit, realPath } = opened
      const subjects = subjectsOf(target, realPath, shell).map((subject) => ({
        ...exemptFreeSteps(subject, realPath, { addon: policy.addon, roots: access.roots, env: host.sandbox.env }),
        implicit,
      }))
      return { ...undecided, opened, subjects }
    } catch (error) {
      if (!ToolError.isInstance(error) || isRefusal(error)) throw asFailure(error)
      const [root = '/'] = access.roots
      const { realPath = resolve(root, path) } = error.details
      return { ...undecided, error, subjects: subjectsOf(target, String(realPath), shell) }
    }
  }

  #evaluate(targets: readonly RequestedTarget[], named: readonly Subject[] = []): PermissionVerdict {
    const { id, requires } = this.#call.tool
    const touched = targets.flatMap(({ subjects }) => subjects)
    return this.#rules.evaluate(id, [...touched, ...named], isEmptySet(requires))
  }

  /** The refusal of a rule. It names the path as the model wrote it, and so hides where links lead. */
  #denied({ decisive }: PermissionVerdict): ContractFailure {
    const { id } = this.#call.tool
    return deniedByRule(
      decisive && { ...decisive, resource: this.#asWritten(decisive.resource) },
      id,
      whyRestricted(this.#rules, id, decisive, grammarOf(this.#scope.host.shell)),
    )
  }

  #asWritten(resource: string): string {
    const requested = this.#targets.find(
      ({ target, subjects }) => target.kind === 'file' && subjects.some((subject) => subject.resource === resource),
    )
    return requested?.target.kind === 'file' ? requested.target.path : resource
  }

  /** The capabilities that the tool requires by name, except those that a target names together with a resource. */
  #requiredByName(): Subject[] {
    const covered = new Set(this.#targets.flatMap(({ subjects }) => subjects.map(({ capability }) => capability)))
    return (this.#call.tool.requires.capabilities ?? []).filter((name) => !covered.has(name)).map(textSubject)
  }

  async #askWatchdog(): Promise<Verdict> {
    const { watchdog, manifest, sessionId, limits, shell } = this.#scope.host
    if (watchdog === undefined) return { action: 'allow' }
    const { id, tool, args, signal } = this.#call
    const commands = this.#targets.flatMap(({ target }) =>
      target.kind === 'command' ? this.policy.addon.parseCommandLine(target.command, grammarOf(shell)).commands : [],
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

  /** Whether the user was asked; `false` when the answer to an earlier call covers this one. */
  async #prompt(targets: readonly RequestedTarget[], named: readonly Subject[], watched: Verdict): Promise<boolean> {
    const { access, host } = this.#scope
    const { id: callId, tool, args, signal } = this.#call
    const { prompt } = host
    if (host.headless || prompt === undefined) {
      const open = this.#evaluate(targets, named).subjects.find(({ action }) => action === 'ask')
      throw deniedUnattended(
        open && { ...open, resource: this.#asWritten(open.resource) },
        tool.id,
        watched.reason,
        whyRestricted(this.#rules, tool.id, open, grammarOf(host.shell)),
      )
    }
    // A call that waits for a person must not hold up others.
    releaseSlot(this.#slot)
    return access.prompts.run(async () => {
      const verdict = this.#evaluate(targets, named)
      if (verdict.action === 'deny') throw this.#denied(verdict)
      if (!mustPrompt(verdict, watched)) return false
      const touched = [...targets.flatMap(({ subjects }) => subjects), ...named]
      await promptUser(prompt, {
        host,
        roots: access.roots,
        rules: this.#rules,
        addon: this.policy.addon,
        call: { id: callId, tool: tool.id, args },
        touched: touched.length === 0 ? [textSubject(tool.id)] : touched,
        verdict,
        reason: watched.reason,
        overwritten: tool.id === 'write' ? this.#targets[0]?.opened : undefined,
        signal,
      })
      return true
    }, signal)
  }
}

/** A rule of the user answers a watchdog's question; a rule of the manifest does not. */
function mustPrompt(verdict: PermissionVerdict, watched: Verdict): boolean {
  return verdict.action === 'ask' || (watched.action === 'ask' && !verdict.userAllowed)
}

/** `undefined` for a target that capabilities or rules close. */
async function unlessClosed(opening: Promise<RequestedTarget>): Promise<RequestedTarget | undefined> {
  try {
    return await opening
  } catch (error) {
    if (['capability_refused', 'permission_denied'].includes(failureOf(error).code)) return undefined
    throw error
  }
}

/** Codes of errors for paths outside of the capabilities. */
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
