import { ownCopyOf } from '../../core/argument-copy.js'
import { askAfter, askBefore } from '../../core/call-hooks.js'
import { unlessAborted } from '../../core/abort.js'
import { areCallsHeard, traceCall } from '../../core/call-channel.js'
import type { ReportedPatch } from '../../core/command-patches.js'
import { CallMessage } from '../../core/call-message.js'
import { uuidV7 } from '../../core/clock.js'
import { abortSignal, callable, type Check, type Checks, optional, type Parsed, parseOptions } from '../../core/options.js'
import type { CheckArguments } from './argument-checks/argument-checks.js'
import { AccessController } from './access-controller.js'
import type { ControlledCall } from './call-approval.js'
import { deniedCalls, isApproved } from '../../core/message-approvals.js'
import { rejectedByUser } from '../permissions/refusals.js'
import type { Judgement } from './judgement.js'
import { callRuntime, forgivingRuntime } from './call-runtime.js'
import { ContractFailure, type Envelope, errorEnvelope, failureOf, outputEnvelope, thrownText } from '../registry/envelope.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { changedFiles } from '../../journal/calls/patches-in-call.js'
import type { SessionRecorder } from '../journal/session-recorder.js'
import type { NotedFiles } from '../../language-servers/language-servers.js'
import { CallObservers, type ObservedCall } from './call-observers.js'
import { CallChanges } from './file-changes.js'
import { attachOverwritten } from './overwritten-text.js'
import type { HookedContractCall, Scope } from './scope.js'
import type { ExecutorOf } from '../registry/model-tools.js'
import { snapshotArguments } from '../registry/call-arguments.js'
import { fitError, fitOutput } from '../registry/limited-output.js'

export interface RegisteredTool {
  tool: ContractTool
  check: CheckArguments
  effect: boolean
  /** Whether the tool is built in. Built-in tools do not modify their arguments. */
  builtIn: boolean
}

type OnOutput = (text: string) => unknown

/** Options of a single call. */
export interface CallOptions {
  /** The call's id. Ids may repeat. @default a generated id */
  callId?: string | undefined
  /** Stops the call. */
  signal?: AbortSignal | undefined
  /**
   * Called with the output of a running command: the text since the last call, at most ten times a second, stdout and stderr
   * in the order of arrival. If a command prints faster than 640 KB/s, the oldest output is missing here; the envelope has
   * it. It is not called after the call has ended. What it throws or rejects with becomes a warning; its promise is not awaited.
   */
  onOutput?: ((text: string) => void) | undefined
}

/** How long an aborted tool may still return its result. */
const GRACE_MS = 500

/** A call has an id of the host, which may be a number, or gets one. */
const callIdOf: Check<string> = (id) => (typeof id === 'string' || typeof id === 'number' ? String(id) : uuidV7())

const judgeChecks = { callId: callIdOf, signal: abortSignal }
const callChecks = { ...judgeChecks, onOutput: optional(callable<OnOutput>()) } satisfies Checks<CallOptions>

/** Makes the calls of one session, until it is closed. */
export class SessionCalls {
  readonly #scope: Scope
  readonly #recorder: SessionRecorder
  readonly #find: (id: string) => RegisteredTool
  readonly #closing = new AbortController()
  readonly #takenOver = new AbortController()
  readonly #running = new Set<Promise<unknown>>()
  readonly observers = new CallObservers()
  /** Calls whose end has been reported to observers. Nothing is reported after that. */
  readonly #told = new WeakSet<ObservedCall>()

  /** @param find gives a tool by its id; one that refuses, if the session does not have it. */
  constructor(scope: Scope, recorder: SessionRecorder, find: (id: string) => RegisteredTool) {
    this.#scope = scope
    this.#recorder = recorder
    this.#find = find
    const onLost = (): void =>
      this.#takenOver.abort(
        new ContractFailure('aborted', 'The call was aborted: the session may have been taken over by another process.'),
      )
    if (recorder.lost?.aborted === true) onLost()
    else recorder.lost?.addEventListener('abort', onLost, { once: true })
  }

  /** What ends a call. */
  #ends(own: AbortSignal | undefined): AbortSignal {
    return AbortSignal.any([...(own === undefined ? [] : [own]), this.closing, this.#takenOver.signal])
  }

  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** For the AI SDK. */
  readonly executorOf: ExecutorOf = (id) => (args, options) => {
    const { toolCallId: callId, abortSignal: signal, messages } = options ?? {}
    return this.call(id, args, { callId, signal }, callId !== undefined && isApproved(messages, callId))
  }

  /** Records the calls that the user has denied in these messages, which the AI SDK does not make. */
  async recordDenied(messages: unknown): Promise<void> {
    for (const { callId, tool, args, reason } of await this.#scope.approvals.denied(deniedCalls(messages))) {
      const registered = this.#find(tool)
      const { args: copy } = snapshotArguments(tool, registered.tool.parameters, args, this.#scope.host.limits.textBytes)
      const record = this.#recorder.open({ callId, tool, args: copy, effect: registered.effect })
      const observed = this.#observed(callId, registered.tool, copy)
      const envelope = errorEnvelope('permission_rejected', rejectedByUser(tool, reason).message, 0)
      await record.end(envelope, false)
      if (observed !== undefined) this.observers.tell(({ onResult }) => onResult?.(observed, envelope))
    }
  }

  /** Makes one call. Every failure is an envelope. @param hasApproval whether the messages of the call hold an approval of it. */
  call(id: string, args: unknown, options: CallOptions = {}, hasApproval = false): Promise<Envelope> {
    if (!areCallsHeard()) return this.#call(id, args, options, { hasApproval })
    const message = new CallMessage({ door: 'contract', tool: typeof id === 'string' ? id : typeof id, input: args })
    message.rootDir = this.#scope.access.roots[0]
    return traceCall(message, async () => {
      const envelope = await this.#call(id, args, options, { hasApproval, message })
      if (envelope.type === 'output') message.succeeded(envelope.data, envelope.metadata.truncated ?? false)
      else message.failed(envelope.error_text, envelope.metadata.code)
      return envelope
    })
  }

  async #call(
    id: string,
    args: unknown,
    options: CallOptions,
    { hasApproval, message }: { hasApproval: boolean; message?: CallMessage },
  ): Promise<Envelope> {
    if (this.closing.aborted) {
      return errorEnvelope('session_closed', 'The session has been closed. No more calls can be made in it.', 0)
    }
    let made: Parsed<typeof callChecks>
    try {
      made = parseOptions('session.call', options, callChecks)
    } catch (error) {
      const { code, text } = failureOf(error)
      return errorEnvelope(code, text, 0)
    }
    if (message !== undefined) message.toolCallId = made.callId
    const signal = this.#ends(made.signal)
    const { callId } = made
    // A tool may leave a command behind that still prints.
    let isOver = false
    const hear = made.onOutput
    const onOutput = hear === undefined ? undefined : (text: string): unknown => (isOver ? undefined : hear(text))
    const work = this.#run(this.#find(typeof id === 'string' ? id : `(${typeof id})`), args, {
      id: callId,
      signal,
      isApproved: hasApproval,
      message,
      onOutput,
    })
    this.#running.add(work)
    try {
      return await work
    } finally {
      isOver = true
      this.#running.delete(work)
    }
  }

  /** Reports the beginning of a call. @returns the call for observers; `undefined` if there are none. */
  #observed(callId: string, tool: ContractTool, args: unknown): ObservedCall | undefined {
    if (this.observers.isEmpty) return undefined
    const { host, access } = this.#scope
    const call = Object.freeze({
      session_id: host.sessionId,
      call_id: callId,
      tool: tool.id,
      args,
      kind: tool.kind,
      workspace: access.roots[0],
    })
    this.observers.tell(({ onCall }) => onCall?.(call))
    return call
  }

  /**
   * What the session would decide about a call. Nothing stays open and nothing is recorded; `asks` records a question for
   * an answer that comes later. What a call with an id touches is remembered, for an answer of the host.
   */
  async judge(id: string, args: unknown, options: Pick<CallOptions, keyof typeof judgeChecks>, asks = false): Promise<Judgement> {
    const made = parseOptions('session.judge', options, judgeChecks)
    const signal = this.#ends(made.signal)
    try {
      signal.throwIfAborted()
      const { tool, check } = this.#find(id)
      const { args: copy, refusal, ...size } = snapshotArguments(tool.id, tool.parameters, args, this.#scope.host.limits.textBytes)
      using access = new AccessController(this.#scope, { id: made.callId, tool, args: copy, signal })
      if (refusal !== undefined) throw refusal
      await check(copy, size, signal)
      await access.prepare()
      const judgement = await access.judge()
      if (judgement.action === 'ask' && asks) await access.askLater(judgement.reason)
      else if (judgement.action === 'ask' && options.callId !== undefined) access.remember(judgement.reason)
      return judgement
    } catch (error) {
      const { code, text } = outcomeOf(error, signal)
      return { action: 'deny', subjects: [], rules: [], code, error_text: fitError(text, this.#scope.host.limits.outputBytes) }
    }
  }

  /** Stops the running calls. @returns a promise of their end. */
  async close(): Promise<void> {
    this.#closing.abort(new ContractFailure('aborted', 'The call was aborted: the session has been closed.'))
    await Promise.allSettled(this.#running)
  }

  /**
   * Makes one call, in a fixed order: schema, capabilities, rules, watchdog, prompt, execution, truncation, envelope. Every
   * outcome is an envelope, which is recorded before the caller gets it.
   */
  async #run(
    { tool, check, effect, builtIn }: RegisteredTool,
    args: unknown,
    {
      id,
      signal,
      isApproved: hasApproval,
      message,
      onOutput,
    }: Pick<ControlledCall, 'id' | 'signal' | 'isApproved'> & { message: CallMessage | undefined; onOutput: OnOutput | undefined },
  ): Promise<Envelope> {
    const start = performance.now()
    const { limits } = this.#scope.host
    // The checks and the tool see this copy, whatever the caller does with its object.
    const given = snapshotArguments(tool.id, tool.parameters, args, limits.textBytes)
    const { before: ask, after: tell, sessionId } = this.#scope.host
    const about = { session_id: sessionId, call_id: id, tool: tool.id, args: given.args as HookedContractCall['args'], signal }
    // Without a hook, the call has the access of the moment at which it was made.
    const hooked = ask === undefined || given.refusal !== undefined ? undefined : await askBefore(ask, about)
    const {
      args: copy,
      refusal,
      ...size
    } = hooked?.isChanged === true ? snapshotArguments(tool.id, tool.parameters, hooked.args, limits.textBytes) : given
    const record = this.#recorder.open({ callId: id, tool: tool.id, args: copy, effect, changedByHost: hooked?.isChanged })
    if (message !== undefined) Object.assign(message, record.place, { sideEffect: effect, idempotent: !effect })
    const observed = this.#observed(id, tool, copy)
    const changes = observed === undefined ? undefined : new CallChanges()
    let hasActed = false
    let waitedMs: number | undefined
    let noted: NotedFiles | undefined
    const onWaited = (ms: number): void => void (waitedMs = (waitedMs ?? 0) + ms)
    const patches: ReportedPatch[] = []
    const onPatches = (some: readonly ReportedPatch[]): void => void patches.push(...some)
    let envelope: Envelope
    try {
      // Before the first wait, so that the call has the access of the moment at which it was made.
      using access = new AccessController(this.#scope, { id, tool, args: copy, signal, isApproved: hasApproval, onWaited })
      await recorded(() => record.announce())
      signal.throwIfAborted()
      if (refusal !== undefined) throw refusal
      if (hooked?.refusal !== undefined) throw new ContractFailure('permission_denied', `The host refuses this call: ${hooked.refusal}`)
      await check(copy, size, signal)
      await access.prepare()
      await access.decide()
      await recorded(() => record.begin())
      await this.#scope.host.seen?.ready()
      signal.throwIfAborted()
      hasActed = true
      let before: string | undefined
      const onOverwritten = tool.id === 'write' ? (text: string | undefined) => void (before = text) : undefined
      const runtime = callRuntime({
        scope: this.#scope,
        access,
        id,
        tool: tool.id,
        signal,
        onOverwritten,
        onPatches,
        changes,
        onOutput: observed === undefined ? onOutput : this.#toAll(observed, onOutput),
      })
      const execute = () => (builtIn ? tool.execute(copy, runtime) : tool.execute(ownCopyOf(copy), forgivingRuntime(runtime)))
      const make = (): Promise<unknown> => unlessAborted(Promise.resolve().then(execute), signal, GRACE_MS)
      const { checkpoints, languageServers } = this.#scope.host
      noted = effect ? await languageServers?.before(tool.id, copy) : undefined
      const { returned, changed } =
        checkpoints !== undefined && effect ? await checkpoints.around(id, signal, make) : { returned: await make(), changed: [] }
      const { data, outcome } = await fitOutput(returned, limits, (text, limitBytes) =>
        this.#scope.directory.write(tool.id, id, text, limitBytes),
      )
      envelope = attachOverwritten(outputEnvelope(data, performance.now() - start, outcome), before)
      if (tool.id === 'read') checkpoints?.noteRead((copy as { path?: unknown } | undefined)?.path, this.#scope.access.roots[0])
      if (tool.id === 'bash') checkpoints?.attach(envelope, changed)
      const checked = noted
      noted = undefined
      await languageServers?.attach(envelope, checked, signal)
      const replaced =
        tell === undefined ? undefined : await askAfter(tell, { ...about, args: copy as typeof about.args, envelope: ownCopyOf(envelope) })
      if (replaced !== undefined) {
        const fitted = await fitOutput(replaced.result, limits, (text, limitBytes) =>
          this.#scope.directory.write(tool.id, id, text, limitBytes),
        )
        envelope = outputEnvelope(fitted.data, performance.now() - start, fitted.outcome)
      }
    } catch (error) {
      if (noted !== undefined) this.#scope.host.languageServers?.unchanged(noted)
      const { code, text } = outcomeOf(error, signal)
      envelope = errorEnvelope(code, fitError(text, limits.outputBytes), performance.now() - start)
      if (tell !== undefined && hasActed) await askAfter(tell, { ...about, args: copy as typeof about.args, envelope: ownCopyOf(envelope) })
    }
    if (message !== undefined) {
      message.acted = hasActed
      const files = changedFiles(patches, this.#scope.access.roots[0])
      if (files.length > 0) message.changedFiles = files
    }
    await record.patched(patches, this.#scope.access.roots[0])
    await record.end(envelope, hasActed, { waitedMs, seen: this.#scope.host.seen })
    if (observed !== undefined) {
      changes?.attachTo(envelope)
      this.#told.add(observed)
      this.observers.tell(({ onResult }) => onResult?.(observed, envelope))
    }
    return envelope
  }

  /** Output for the caller and for observers. */
  #toAll(call: ObservedCall, onOutput: OnOutput | undefined): OnOutput {
    return (text) => {
      if (!this.#told.has(call)) this.observers.tell((observer) => observer.onOutput?.(call, text))
      return onOutput?.(text)
    }
  }
}

/** Refuses a call that cannot be recorded. */
async function recorded(step: () => Promise<void>): Promise<void> {
  try {
    await step()
  } catch (error) {
    const text = `The call could not be recorded, and was not made: ${thrownText(error)}`
    throw new ContractFailure('recording_failed', text, { cause: error })
  }
}

function outcomeOf(error: unknown, signal: AbortSignal): ReturnType<typeof failureOf> {
  if (!signal.aborted || error !== signal.reason) return failureOf(error)
  if (ContractFailure.isInstance(error)) return failureOf(error)
  return { code: 'aborted', text: `The call was aborted: ${thrownText(error)}` }
}
