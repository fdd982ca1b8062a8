import { resolve } from 'node:path'
import { ToolError } from '../errors.js'
import { ContractFailure } from './codes.js'
import type { CallTarget, ContractTool, FileAccess } from './contract-tool.js'
import { thrownText } from './envelope.js'
import type { NativeTarget } from './native-surface.js'
import { deniedByRule, deniedUnattended, rejectedByUser, unanswered } from './permissions/decide.js'
import { checkAnswer, type PromptAnswer } from './permissions/prompt.js'
import type { PermissionVerdict, Subject } from './permissions/rule-store.js'
import { suggestedRules } from './permissions/suggested-rules.js'
import { isEmptySet } from './requirements.js'
import type { SessionCore } from './session-core.js'
import { askWatchdog, type Verdict, watchdogRefusal } from './watchdog.js'
import { withinTime } from './within-time.js'

/** Something that the call touches, opened and within the capabilities. */
interface Held {
  target: CallTarget
  /** The file, or the directory of a command. Absent where it could not be opened. */
  opened: NativeTarget | undefined
  /** Why it could not be opened: told when the tool needs it, after the rules had their say. */
  error: ToolError | undefined
  /** Whether rules and user have agreed: until then it is of no use to anybody. */
  agreed: boolean
  subjects: Subject[]
}

/** What one call may do: capabilities, then rules, then the watchdog, then the user. */
export class CallAuthority {
  readonly #core: SessionCore
  readonly #tool: ContractTool
  readonly #args: unknown
  readonly #callId: string
  readonly #signal: AbortSignal
  readonly #held: Held[] = []

  constructor(core: SessionCore, tool: ContractTool, args: unknown, callId: string, signal: AbortSignal) {
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
      asRefusal(() => this.#core.policy.checkCapability(name))
    }
    for (const target of this.#tool.targets?.(this.#args) ?? []) this.#held.push({ ...(await this.#hold(target)), agreed: true })
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
    if (mustAsk(verdict, watched)) await this.#ask(this.#held, this.#named(), watched)
  }

  /** The file or directory at a path: as it was opened before the call, or else opened and decided on now. */
  async open(path: string, access: FileAccess): Promise<NativeTarget> {
    const known = this.#held.find(({ target, agreed }) => agreed && target.kind === 'file' && target.path === path && target.access === access)
    const held = known ?? (await this.#add({ kind: 'file', path, access }))
    if (held.error !== undefined) throw held.error
    return held.opened as NativeTarget
  }

  /** A capability that is required by name, on something: as it was said before the call, or else decided on now. */
  async use(name: string, resource: string): Promise<void> {
    if (this.#tool.requires.capabilities?.includes(name) !== true) {
      throw new ContractFailure('capability_refused', `The tool ${this.#tool.id} does not require the capability ${name}.`)
    }
    const isIt = ({ target, agreed }: Held): boolean =>
      agreed && target.kind === 'capability' && target.name === name && target.resource === resource
    if (!this.#held.some(isIt)) await this.#add({ kind: 'capability', name, resource })
  }

  /** The directory in which a command line may run. */
  async command(command: string, workdir: string | undefined): Promise<NativeTarget> {
    const isIt = (target: CallTarget): boolean =>
      target.kind === 'command' && target.command === command && target.workdir === workdir
    const held = this.#held.find(({ target, agreed }) => agreed && isIt(target)) ?? (await this.#add({ kind: 'command', command, workdir }))
    if (held.error !== undefined) throw held.error
    return held.opened as NativeTarget
  }

  /** A host of the web, before it is dialled: as it was named before the call, or else decided on now. */
  async reach(host: string, port: number): Promise<void> {
    const isIt = ({ target, agreed }: Held): boolean =>
      agreed && target.kind === 'host' && target.host === host && target.port === port
    if (!this.#held.some(isIt)) await this.#add({ kind: 'host', host, port })
  }

  /** Closes everything that was opened. */
  release(): void {
    for (const { opened } of this.#held.splice(0)) opened?.close()
  }

  /** What a tool touches that has not said so before. The watchdog has seen the call, and is not asked again. */
  async #add(target: CallTarget): Promise<Held> {
    const held = await this.#hold(target)
    this.#held.push(held)
    const verdict = this.#verdict([held])
    if (verdict.action === 'deny') throw this.#denied(verdict)
    // Whoever agreed to the call agreed to what no rule mentions.
    const isMentioned = verdict.subjects.some(({ action, rule }) => action === 'ask' && rule !== undefined)
    // But not to wherever a page leads.
    const asks = verdict.action === 'ask' && (isMentioned || target.kind === 'host')
    if (asks) await this.#ask([held], [], { action: 'allow' })
    held.agreed = true
    return held
  }

  async #hold(target: CallTarget): Promise<Held> {
    const { policy, directory } = this.#core
    if (target.kind === 'host') {
      asRefusal(() => policy.checkHost(target.host, target.port))
      return { target, opened: undefined, error: undefined, subjects: subjectsOf(target, ''), agreed: false }
    }
    if (target.kind === 'capability') {
      asRefusal(() => policy.checkCapability(target.name))
      return { target, opened: undefined, error: undefined, subjects: subjectsOf(target, ''), agreed: false }
    }
    if (target.kind === 'command') asRefusal(() => policy.checkCommand(target.command))
    const path = target.kind === 'command' ? (target.workdir ?? '.') : target.path
    const access = target.kind === 'command' ? 'workdir' : target.access
    try {
      const opened = await policy.open(path, access, this.#signal)
      if (directory.isForeign(opened.realPath)) {
        opened.close()
        throw new ContractFailure('capability_refused', `Outside of the session's capabilities: \`${path}\` belongs to another session.`)
      }
      return { target, opened, error: undefined, subjects: subjectsOf(target, opened.realPath), agreed: false }
    } catch (error) {
      if (!ToolError.isInstance(error) || isRefusal(error)) throw asFailure(error)
      const [root = '/'] = this.#core.roots
      return { target, opened: undefined, error, subjects: subjectsOf(target, resolve(root, path)), agreed: false }
    }
  }

  /** What the rules say of files and commands, and of what else the tool requires by name. */
  #verdict(held: readonly Held[], named: readonly Subject[] = []): PermissionVerdict {
    const { rules } = this.#core
    const { id, requires } = this.#tool
    // Files of the session itself need no rule; only the manifest can close them.
    const implicit = held.filter(({ opened }) => opened?.implicit === true).flatMap(({ subjects }) => subjects)
    const judged = implicit.length === 0 ? undefined : rules.evaluate(id, implicit)
    const closed = judged?.subjects.find(({ action, final }) => action === 'deny' && final)
    if (judged !== undefined && closed !== undefined) return { ...judged, action: 'deny', decisive: closed }
    const explicit = held.filter(({ opened }) => opened?.implicit !== true).flatMap(({ subjects }) => subjects)
    const all = [...explicit, ...named]
    if (judged !== undefined && all.length === 0) return { ...judged, action: 'allow', userAllowed: true }
    const verdict = rules.evaluate(id, all.length === 0 ? [textSubject(id)] : all)
    // What is touched after all is not nothing.
    if (!verdict.matched && isEmptySet(requires) && all.length === 0) return { ...verdict, action: 'allow' }
    return verdict
  }

  /** The refusal of a rule, with the path as the model wrote it: where its links lead is not told. */
  #denied({ decisive }: PermissionVerdict): ContractFailure {
    return deniedByRule(decisive && { ...decisive, resource: this.#asWritten(decisive.resource) }, this.#tool.id)
  }

  #asWritten(resource: string): string {
    const held = this.#held.find(({ opened }) => opened?.realPath === resource)
    return held?.target.kind === 'file' ? held.target.path : resource
  }

  /** The capabilities that the tool requires by name. */
  #named(): Subject[] {
    // A target says more than the name: which host.
    const told = new Set(this.#held.flatMap(({ subjects }) => subjects.map(({ capability }) => capability)))
    return (this.#tool.requires.capabilities ?? []).filter((name) => !told.has(name)).map(textSubject)
  }

  async #watch(): Promise<Verdict> {
    const { watchdog, manifest, id, limits, policy } = this.#core
    if (watchdog === undefined) return { action: 'allow' }
    const commands = this.#held.flatMap(({ target }) =>
      target.kind === 'command' ? policy.addon.parseCommandLine(target.command).commands : [],
    )
    const call = {
      tool: this.#tool.id,
      args: structuredClone(this.#args),
      manifest,
      session_id: id,
      call_id: this.#callId,
      commands: commands.map(({ text, argv, restricted }) => ({ text, argv, restricted })),
    }
    return askWatchdog(watchdog, call, limits.watchdogMs, this.#signal)
  }

  async #ask(held: readonly Held[], named: readonly Subject[], watched: Verdict): Promise<void> {
    const { headless, prompts, host } = this.#core
    const { prompt } = host
    if (headless || prompt === undefined) {
      const open = this.#verdict(held, named).subjects.find(({ action }) => action === 'ask')
      throw deniedUnattended(open && { ...open, resource: this.#asWritten(open.resource) }, this.#tool.id, watched.reason)
    }
    await prompts.inTurn(async () => {
      // An answer to a call before may have answered this one.
      const verdict = this.#verdict(held, named)
      if (verdict.action === 'deny') throw this.#denied(verdict)
      if (!mustAsk(verdict, watched)) return
      const all = [...held.flatMap(({ subjects }) => subjects), ...named]
      await this.#prompt(all.length === 0 ? [textSubject(this.#tool.id)] : all, verdict, watched)
    }, this.#signal)
  }

  async #prompt(touched: readonly Subject[], verdict: PermissionVerdict, watched: Verdict): Promise<void> {
    const { id: tool } = this.#tool
    const { host, limits, id: session_id, policy, roots } = this.#core
    const rules = suggestedRules(policy.addon, tool, touched, roots)
    const subjects = verdict.subjects.map(({ capability, resource, restricted: why }) => ({ capability, resource, why }))
    const args: unknown = structuredClone(this.#args)
    const asked = { session_id, call_id: this.#callId, tool, args, subjects, reason: watched.reason, rules }
    const late = (): Error => unanswered(tool, limits.promptMs)
    let answer: ReturnType<typeof checkAnswer>
    try {
      const given = withinTime((signal) => host.prompt?.({ ...asked, signal }), limits.promptMs, this.#signal, late)
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
      const stored = this.#core.rules.record({ permission, pattern, action }, answer.scope)
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

/** What has no path: a capability by its name, or a tool that touches nothing. */
const textSubject = (capability: string): Subject => ({ capability, kind: 'text', resource: '' })

function subjectsOf(target: CallTarget, path: string): Subject[] {
  if (target.kind === 'capability') return [{ capability: target.name, kind: 'text', resource: target.resource }]
  if (target.kind === 'command') return [{ capability: 'shell.run', kind: 'command', resource: target.command }]
  if (target.kind === 'host') return [{ capability: 'net.fetch', kind: 'host', resource: `${target.host}:${target.port}` }]
  const of = (capability: string): Subject => ({ capability, kind: 'path', resource: path })
  if (target.access === 'edit') return [of('fs.read'), of('fs.write')]
  return [of(target.access === 'write' ? 'fs.write' : 'fs.read')]
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
