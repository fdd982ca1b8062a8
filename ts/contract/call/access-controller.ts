import type { ReportedPatch } from '../../core/command-patches.js'
import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { ContractPolicy, ContractRules, CredentialUse, OpenedTarget } from '../../../index.js'
import { ToolError } from '../../core/errors.js'
import { call as callNative, isUnfinished, tryNowait } from '../../core/native.js'
import { boundedPath } from '../../core/text.js'
import { ContractFailure, failureOf } from '../registry/envelope.js'
import type { CallTarget, FileAccess } from '../registry/contract-tool.js'
import { tooManyUses, unclearPath } from '../permissions/refusals.js'
import type { Rule } from '../permissions/rule.js'
import { CREDENTIAL_CAPABILITY } from '../registry/tool-ids.js'
import { CallApproval, type ControlledCall } from './call-approval.js'
import { type RequestedTarget, subjectsOf, exemptFreeSteps } from './call-target.js'
import { acquireSlot } from './call-slots.js'
import type { Judgement } from './judgement.js'
import { meantInWorkspace, type PathSurroundings, withPathAdvice } from './path-advice.js'
import type { Scope } from './scope.js'
import type { CallChanges } from './file-changes.js'
import { textBefore } from './overwritten-text.js'
import { checkShellSyntax, grammarOf } from './shell.js'

/** A request of a command that is to have a credential. */
type CredentialRequest = Omit<CredentialUse, 'question'>

export interface CallScope {
  scope: Scope
  access: AccessController
  id: string
  tool: string
  signal: AbortSignal
  /** Receives the text that a file held before the call overwrote it. */
  onOverwritten?: ((before: string | undefined) => void) | undefined
  /** Receives the patches that a command has applied, when it has ended. */
  onPatches?: ((patches: readonly ReportedPatch[]) => void) | undefined
  /** Takes the call's changes of files, for observers. */
  changes?: CallChanges | undefined
  /** Takes the output of a running command. */
  onOutput?: ((text: string) => void) | undefined
}

/** Decides what one call may touch: first the capabilities, then the rules, then the watchdog, then the user. */
export class AccessController implements Disposable {
  /** The capabilities at the time the call began. Files that are opened or closed later do not change them. */
  readonly policy: ContractPolicy
  readonly #approval: CallApproval
  readonly #scope: Scope
  readonly #call: ControlledCall
  readonly #targets: RequestedTarget[] = []
  #releaseSlot: () => void = () => undefined
  #isOver = false
  /** Uses of credentials that rules leave to the user, and what became of them. */
  readonly #uses = new Map<string, Promise<void>>()
  /** Gives up what the user is asked about hosts of a command. Most calls ask nothing. */
  #ended: AbortController | undefined

  constructor(scope: Scope, call: ControlledCall) {
    this.policy = scope.access.capabilities.policy
    this.#scope = scope
    this.#call = call
    // A call that waits for a person must not hold up others.
    this.#approval = new CallApproval(scope, call, this.#targets, () => this.#releaseSlot())
  }

  /**
   * Opens the targets that the tool declares for these arguments, and checks the capabilities for what was opened.
   *
   * @throws {ContractFailure} capability_refused
   */
  async prepare(): Promise<void> {
    const { tool, args, signal } = this.#call
    for (const name of tool.requires.capabilities ?? []) refuse(this.policy.checkCapability(name))
    const targets = tool.targets?.(args) ?? []
    if (targets.length > 0) this.#releaseSlot = await acquireSlot(signal)
    for (const target of targets) {
      this.#targets.push({ ...(await this.#openAsAsked(target)), approved: true })
      if (target.kind === 'file' && target.everywhere === true) await this.#openOtherRoots()
    }
  }

  /** One answer covers all roots. A closed root is left out: for this call it is not part of the workspace. */
  async #openOtherRoots(): Promise<void> {
    for (const path of this.#scope.access.roots.slice(1)) {
      const target = await unlessClosed(this.#open({ kind: 'file', path, access: 'search' }))
      if (target === undefined) continue
      const isClosed = this.#approval.evaluate([target]).action === 'deny'
      if (isClosed) target.opened?.close()
      else this.#targets.push({ ...target, approved: true })
    }
  }

  /** Asks the rules, the watchdog and the user. @throws {ContractFailure} unless all of them agree. */
  async decide(): Promise<void> {
    const approvedByUser = await this.#approval.decide()
    for (const target of this.#targets) target.approvedByUser = approvedByUser
  }

  async judge(): Promise<Judgement> {
    return this.#approval.judge()
  }

  async askLater(reason: string | undefined): Promise<void> {
    await this.#approval.askLater(reason)
  }

  remember(reason: string | undefined): void {
    this.#approval.remember(reason)
  }

  async open(path: string, access: FileAccess): Promise<OpenedTarget> {
    return this.#openedOf(await this.#approved({ kind: 'file', path, access }))
  }

  /** The text that a file has now, for a diff: whatever the reason, `undefined` says that it is unknown. */
  async textNow(path: string): Promise<string | undefined> {
    try {
      const target = await this.#openPath(boundedPath(path), 'read')
      try {
        return await textBefore(target, this.#call.signal)
      } finally {
        target.close()
      }
    } catch {
      return undefined
    }
  }

  get forSearches(): ContractRules[] {
    return this.#approval.rules.chain.map(({ compiled }) => compiled)
  }

  /**
   * As {@link open}, for a search; without a path, of all roots. `agreed` says that the user approved the search, and
   * with it the files in it that rules ask about.
   */
  async search(path: string | undefined): Promise<{ target: OpenedTarget; also: OpenedTarget[]; agreed: boolean }> {
    const first = await this.#approved({ kind: 'file', path: path ?? '.', access: 'search' })
    const others = path === undefined ? await this.#otherRoots() : []
    const target = await this.#openedOf(first)
    const also = await Promise.all(others.map((one) => this.#openedOf(one)))
    return { target, also, agreed: [first, ...others].every(({ approvedByUser }) => approvedByUser) }
  }

  async #otherRoots(): Promise<RequestedTarget[]> {
    const open: RequestedTarget[] = []
    for (const path of this.#scope.access.roots.slice(1)) {
      const target = await unlessClosed(this.#approved({ kind: 'file', path, access: 'search' }))
      if (target !== undefined) open.push(target)
    }
    return open
  }

  /** Uses a capability that the tool requires by name on a resource. */
  async use(name: string, resource: string): Promise<void> {
    const { tool } = this.#call
    if (tool.requires.capabilities?.includes(name) !== true) {
      throw new ContractFailure('capability_refused', `The tool ${tool.id} does not require the capability ${name}.`)
    }
    await this.#approved({ kind: 'capability', name, resource })
  }

  async command(command: string, workdir: string | undefined): Promise<OpenedTarget> {
    return this.#openedOf(await this.#approved({ kind: 'command', command, workdir }))
  }

  /** What is typed into a process. Which programs may run was decided when the process was started. */
  async input(process: string, text: string, secret: boolean): Promise<void> {
    await this.#approved({ kind: 'input', process, text, secret })
  }

  async reach(host: string, port: number): Promise<void> {
    await this.#approved({ kind: 'host', host, port })
  }

  /** As {@link reach}, for a command that may outlive the call. `signal` and the end of the call give up the question. */
  async reachFromCommand(host: string, port: number, signal: AbortSignal): Promise<void> {
    this.#checkRunning()
    this.#ended ??= new AbortController()
    await this.#approved({ kind: 'host', host, port }, AbortSignal.any([signal, this.#ended.signal]))
  }

  /**
   * Uses a credential in a request of a command, which may outlive the call. Afterwards nobody is asked: what rules leave to the
   * user is refused.
   */
  async useCredential({ credential, method, host, port, path, isPlain }: CredentialRequest): Promise<void> {
    refuse(this.policy.checkCapability(CREDENTIAL_CAPABILITY))
    const place = port === 443 ? host : `${host}:${port}`
    // A server may take the path for another one, so a rule about paths could not be held to.
    const rule = isPlain ? undefined : this.#approval.rules.find((one) => isAboutPaths(one, this.#call.tool.id, credential))
    if (rule !== undefined) throw unclearPath(rule, method, place)
    // Some servers take methods in small letters for those in large ones.
    const resource = `${credential} ${method.toUpperCase()} ${place}${isPlain ? path : ''}`
    const target: CallTarget = { kind: 'capability', name: CREDENTIAL_CAPABILITY, resource }
    const subjects = subjectsOf(target, '', this.#scope.host.shell)
    const requested = { target, opened: undefined, error: undefined, approved: false, approvedByUser: false, subjects }
    if (!this.#approval.leavesToUser(requested)) return
    this.#checkRunning()
    this.#ended ??= new AbortController()
    const known = this.#uses.get(resource)
    if (known !== undefined) return known
    if (this.#uses.size >= MAX_USES) throw tooManyUses(resource, MAX_USES)
    const decided = this.#approved(target, this.#ended.signal).then(() => undefined)
    this.#uses.set(resource, decided)
    return decided
  }

  /** The target that the call declared, or else one that is opened and decided on now. */
  async #approved(requested: CallTarget, signal?: AbortSignal): Promise<RequestedTarget> {
    const isSame = (target: Record<string, unknown>): boolean => Object.entries(requested).every(([name, value]) => target[name] === value)
    return this.#targets.find(({ target, approved }) => approved && isSame(target)) ?? (await this.#authorize(requested, signal))
  }

  async #openedOf({ opened, error, target }: RequestedTarget): Promise<OpenedTarget> {
    if (error === undefined) return opened as OpenedTarget
    throw await withPathAdvice(error, this.#call.tool.id, target, this.#surroundings())
  }

  #surroundings(): PathSurroundings {
    const { roots, tools } = this.#scope.access
    return { roots, hasTool: (id) => tools.has(id), mayName: (path) => this.#mayRead(path) }
  }

  /** Whether a path exists and may be read without a prompt. */
  async #mayRead(path: string): Promise<boolean> {
    const target = await this.#open({ kind: 'file', path, access: 'search' }).catch(() => undefined)
    target?.opened?.close()
    return target !== undefined && target.error === undefined && this.#approval.evaluate([target]).action === 'allow'
  }

  /** Closes every target. The tool may touch nothing after its call. */
  [Symbol.dispose](): void {
    this.#isOver = true
    this.#ended?.abort()
    this.#releaseSlot()
    for (const { opened } of this.#targets.splice(0)) opened?.close()
  }

  async #authorize(target: CallTarget, signal?: AbortSignal): Promise<RequestedTarget> {
    const requested = await this.#openAsAsked(target)
    this.#targets.push(requested)
    requested.approvedByUser = await this.#approval.decideOn(requested, signal)
    this.#checkRunning()
    requested.approved = true
    return requested
  }

  /** Opens what the call asks for. A refusal names what an absolute path may have meant in the workspace. */
  #openAsAsked(target: CallTarget): Promise<RequestedTarget> {
    return this.#open(target).catch((error: unknown) => this.#refuseOutside(error, target))
  }

  async #refuseOutside(error: unknown, target: CallTarget): Promise<never> {
    const { cause } = error as { cause?: unknown }
    if (!('path' in target) || !ToolError.isInstance(cause) || !outOfScope.has(cause.code)) throw error
    const meant = await meantInWorkspace(target.path, this.#surroundings())
    throw meant === '' ? error : new ContractFailure('capability_refused', `${cause.message}${meant}`, { cause })
  }

  #checkRunning(): void {
    if (this.#isOver)
      throw new ContractFailure('aborted', `The call of ${this.#call.tool.id} has ended: await all work before \`execute\` returns.`)
  }

  async #open(target: CallTarget): Promise<RequestedTarget> {
    this.#checkRunning()
    const { policy } = this
    const { access, host } = this.#scope
    const { addon } = access
    const { shell } = host
    const undecided = { target, opened: undefined, error: undefined, approved: false, approvedByUser: false }
    if (target.kind === 'host') refuse(policy.checkHost(target.host, target.port))
    if (target.kind === 'capability') refuse(policy.checkCapability(target.name))
    if (target.kind === 'host' || target.kind === 'capability' || target.kind === 'input')
      return { ...undecided, subjects: subjectsOf(target, '', shell) }
    if (target.kind === 'command') {
      checkShellSyntax(addon, shell, target.command)
      refuse(policy.checkCommand(target.command, grammarOf(shell)))
    }
    const path = target.kind === 'command' ? (target.workdir ?? '.') : target.path
    try {
      const opened = await this.#openPath(boundedPath(path), target.kind === 'command' ? 'workdir' : target.access)
      if (this.#isOver) opened.close()
      this.#checkRunning()
      const { implicit, realPath } = opened
      const subjects = subjectsOf(target, realPath, shell).map((subject) => ({
        ...exemptFreeSteps(subject, realPath, { addon, roots: access.fork === undefined ? access.roots : [], env: host.sandbox.env }),
        implicit,
      }))
      return { ...undecided, opened, subjects }
    } catch (error) {
      if (!ToolError.isInstance(error) || error.code === 'TOOL_PATH_PROTECTED') throw error
      if (outOfScope.has(error.code)) throw new ContractFailure('capability_refused', error.message, { cause: error })
      const [root = '/'] = access.roots
      const { realPath = resolve(root, path) } = error.details
      return { ...undecided, error, subjects: subjectsOf(target, String(realPath), shell) }
    }
  }

  #openPath(path: string, access: FileAccess | 'workdir'): Promise<OpenedTarget> {
    const { policy } = this
    const { signal } = this.#call
    const { addon } = this.#scope.access
    return withDescriptor(async () => {
      const cached = access === 'read' ? tryNowait(signal, () => addon.tryOpenTargetCached(policy, path)) : undefined
      if (cached !== undefined) return cached
      return callNative({ signal, timeoutMs: OPEN_MS, what: `open ${path}` }, async (_, cancel) => {
        const opened = await addon.openTarget(policy, path, access, cancel)
        // After an abort nothing else would close it.
        if (signal.aborted && !isUnfinished(opened)) opened.close()
        return opened
      })
    }, signal)
  }
}

/** Whether a rule may tell paths of requests with a credential apart. */
function isAboutPaths({ permission, pattern }: Rule, tool: string, credential: string): boolean {
  if (!pattern.includes('/')) return false
  // A pattern for everything begins with anything, or as the name does.
  return permission === CREDENTIAL_CAPABILITY || ([tool, '*'].includes(permission) && ['*', '?', credential[0]].includes(pattern[0]))
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

const outOfScope: ReadonlySet<string> = new Set(['CAPABILITY_DENIED', 'TOOL_PATH_ESCAPE'])

function refuse(why: string | null): void {
  if (why !== null) throw new ContractFailure('capability_refused', why)
}

const OPEN_MS = 30_000
/** How many uses of credentials the user is asked about in one call. Somebody has to read them. */
const MAX_USES = 32
/** How long a call waits for a descriptor when the process has none left. */
const DESCRIPTOR_WAIT_MS = 5_000
const PAUSE_MS = 20

/** Does work that takes a descriptor. If the process has none left, it tries again, since other calls free theirs soon. */
export async function withDescriptor<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const deadline = performance.now() + DESCRIPTOR_WAIT_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const { errno } = ToolError.isInstance(error) ? error.details : {}
      if ((errno !== 'EMFILE' && errno !== 'ENFILE') || performance.now() > deadline) throw error
      await pause(PAUSE_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
}
