/** Records the calls of one step: each is claimed by its id before it is made. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Awaitable, attempt, unlessAborted } from '../core/abort.js'
import { steadyNow } from '../core/clock.js'
import { ToolError, wasRefused } from '../core/errors.js'
import { nativeAddon } from '../core/native.js'
import type { CallRecorder, OpenRecord, StartingCall } from '../journal/calls/call-record.js'
import { markFailed, noteKeyRead, warnOnce } from '../journal/calls/call-record.js'
import { declaresItsKey } from '../journal/calls/read-keys.js'
import { keptOutput, recordedInput, wholeOutput } from '../journal/calls/recorded-values.js'
import type { Journal } from '../journal/journal.js'
import type { CallClaim, ClaimedCall, TaskId, ToolCallEnd, ToolCallRef, ToolCallRow } from '../journal/journal-store.js'
import { lateOutcomesOf } from '../journal/late-outcomes.js'
import { tracedLock } from '../journal/store-channels.js'
import type { DefinedToolMetadata } from '../toolkit/define-tool.js'
import { isVerdict, pinnedError, pinnedErrorAsJson } from './pinned-errors.js'
import type { RunObject } from './run-objects.js'
import { incomplete, madeBefore, neverEnded, outcomeUnknown, timer } from './undecided-calls.js'
import type { UnknownCall } from './unknown-calls.js'

/** How often a call is looked at that another process makes. */
const POLL_MS = 100

export interface ClaimPolicy {
  /** What the tool promises about a second call. */
  metadata: Pick<DefinedToolMetadata, 'usesIdempotencyKey' | 'probe'>
  onUnknown: 'tell' | 'fail' | 'approve'
  approve: ((call: UnknownCall) => Awaitable<boolean>) | undefined
  /** How long a call may run. */
  staleAfterMs: number
  /** The `durable()` object that makes the call. */
  object?: RunObject | undefined
}

export class ClaimRecorder implements CallRecorder {
  readonly #journal: Journal
  readonly #task: TaskId
  readonly #callId: string
  readonly #policy: ClaimPolicy
  readonly #stop: AbortController
  readonly #onStale: (error: ToolError) => void
  /** The error that a tool threw, or that was recorded, where every further execution gets it too. */
  pinnedError: unknown
  /** Calls that are being made. */
  readonly #open = new Set<(error: unknown) => Promise<void>>()
  #calls = 0

  /**
   * @param stop ends the tool, and the wait for another process
   * @param onStale called with the error of a call that runs for too long
   */
  constructor(
    journal: Journal,
    task: TaskId,
    callId: string,
    policy: ClaimPolicy,
    stop: AbortController,
    onStale: (error: ToolError) => void,
  ) {
    this.#onStale = onStale
    this.#journal = journal
    this.#task = task
    this.#callId = callId
    this.#policy = policy
    this.#stop = stop
  }

  async start(call: StartingCall): Promise<OpenRecord> {
    const { metadata, builtIn, ctx } = call
    const addon = await nativeAddon()
    // Calls that the tool itself makes come in their order.
    const callId = this.#calls === 0 ? this.#callId : `${this.#callId}/${this.#calls}`
    this.#calls += 1
    const { inputJson, identity } = await recordedInput(call.input)
    const key = addon.claimedCallKey(this.#task, metadata.name, callId)
    const redacts = !builtIn && this.#journal.redactKeys && inputJson !== undefined
    const claimed: ClaimedCall = {
      ...this.#task,
      attempt: 1,
      callId,
      toolName: metadata.name,
      inputJson: redacts ? new addon.CallKeys(this.#task).withoutSecrets(inputJson) : inputJson,
      sideEffect: metadata.sideEffect,
      idempotent: metadata.idempotent,
      acceptsIdempotencyKey: declaresItsKey(metadata, builtIn),
      hasRevert: metadata.hasRevert,
      idempotencyKey: metadata.acceptsIdempotencyKey ? key : null,
      callToken: ctx.toolCallId,
      argsHash: addon.argsHash(identity),
      ordinal: this.#policy.object?.number,
    }
    const about = { store: this.#journal.location, lock: 'call' } as const
    return tracedLock(
      about,
      () => this.#decided(call, claimed, key),
      ({ recorded }) => (recorded === undefined ? 'taken' : 'recorded'),
      outcomeOfError,
    )
  }

  /** Claims the call, and waits for a process that makes it. */
  async #decided(call: StartingCall, given: ClaimedCall, givenKey: string): Promise<OpenRecord> {
    let [claimed, key, running] = [given, givenKey, undefined as { since: number; start: number } | undefined]
    await this.#checkRepeated(call, claimed)
    for (;;) {
      const claim = await this.#claim(claimed, false).catch(async (error: unknown) => {
        if (claimed === given && (await this.#isOfAnother(error, given.callId))) return undefined
        throw error
      })
      if (claim === undefined || (claimed === given && this.#isRowOfAnother(claim))) {
        claimed = { ...given, callId: `${given.callId}~${this.#policy.object?.number?.toString(36)}` }
        key = (await nativeAddon()).claimedCallKey(this.#task, call.metadata.name, claimed.callId)
        if (claimed.idempotencyKey !== null) claimed = { ...claimed, idempotencyKey: key }
        continue
      }
      if ('claimed' in claim) return this.#opened(call, claim, key)
      if ('recorded' in claim) return this.#recorded(call, claimed, claim.recorded, key)
      if ('unknown' in claim) {
        const record = await this.#decide(call, claimed, claim.unknown, key)
        if (record !== undefined) return record
      } else {
        // This process may know how it ended, though the store does not yet.
        const late = lateOutcomesOf(this.#journal).of(claim.running)
        if (late !== undefined && late.status !== 'unknown') return this.#recorded(call, claimed, late, key)
        const { startedAtMs: start } = claim.running
        if (running?.start !== start) running = { start, since: performance.now() }
        if (performance.now() - running.since >= this.#policy.staleAfterMs) await this.#giveUp(claim.running)
      }
      // It is being made elsewhere, or was claimed by another process at this moment.
      await unlessAborted(pause(POLL_MS), this.#stop.signal)
    }
  }

  /** Nobody waits longer for a call that runs for too long: its outcome counts as unknown, unless its process records it. */
  async #giveUp(row: ToolCallRow): Promise<void> {
    const { runId, nodeId, iteration, attempt: number, seq, startedAtMs, toolName } = row
    const ref = { runId, nodeId, iteration, attempt: number, seq, startedAtMs }
    const errorJson = pinnedErrorAsJson(neverEnded(toolName, startedAtMs, this.#policy.staleAfterMs))
    await attempt(
      () => this.#journal.updateToolCall(ref, { status: 'unknown', errorJson }),
      () => undefined,
      // It has ended meanwhile, or the next claim says what is wrong.
      () => undefined,
    )
  }

  /** Whether the id of a call that differs is that of another object's call. */
  async #isOfAnother(error: unknown, callId: string): Promise<boolean> {
    const { object } = this.#policy
    if (object === undefined || !ToolError.isInstance(error) || error.code !== 'REPLAY_DIFFERS') return false
    const { ordinal } = error.details
    return typeof ordinal === 'number' ? object.isOfAnother({ ordinal }) : object.hasIdOfAnother(callId)
  }

  #isRowOfAnother(claim: CallClaim): boolean {
    if ('claimed' in claim) return false
    const row = 'recorded' in claim ? claim.recorded : 'unknown' in claim ? claim.unknown : claim.running
    return this.#policy.object?.isOfAnother(row) === true
  }

  /** Tells of an equal call that an execution has made of which the engine knows nothing. @throws {ToolError} REPLAY_UNSAFE */
  async #checkRepeated(call: StartingCall, { toolName, argsHash }: ClaimedCall): Promise<void> {
    const { object } = this.#policy
    if (object === undefined || !call.metadata.sideEffect || call.metadata.idempotent || typeof argsHash !== 'string') return
    const row = await object.repeated(toolName, argsHash)
    if (row !== undefined && !(await this.#isApproved(call, row))) throw madeBefore(row)
  }

  #claim(call: ClaimedCall, repeat: boolean): Promise<CallClaim> {
    this.#stop.signal.throwIfAborted()
    return this.#journal.claimCall({ ...call, startedAtMs: steadyNow() }, { repeat })
  }

  /** A call whose outcome nobody knows: it is looked up, repeated, or told. */
  async #decide(call: StartingCall, claimed: ClaimedCall, row: ToolCallRow, key: string): Promise<OpenRecord | undefined> {
    const { metadata } = call
    const { probe } = this.#policy.metadata
    const isSafe = this.#isSafe(metadata)
    const isApproved = !isSafe && probe === undefined && (await this.#isApproved(call, row))
    if (!isSafe && probe === undefined && !isApproved) throw this.#unknown(row)
    const claim = await this.#claim(claimed, true)
    if (!('claimed' in claim)) return undefined
    if (probe !== undefined) {
      const end = (ending: ToolCallEnd): Awaitable<void> => this.#end(claim.claimed, metadata.name, ending)
      try {
        const found = await probe(call.input, { idempotencyKey: key, signal: this.#stop.signal })
        if (found?.done === true) {
          await end({ status: 'success', ...(await keptOutput(found.output)) })
          return { seq: claim.claimed.seq, key, task: this.#task, recorded: { output: found.output }, ...silent }
        }
        if (found === undefined && !isSafe && !(await this.#isApproved(call, row))) throw this.#unknown(row)
      } catch (error) {
        // It is as unknown as before.
        await end({ status: 'unknown', errorJson: row.errorJson })
        throw error
      }
    }
    return this.#opened(call, claim, key)
  }

  async #isApproved({ metadata, input }: StartingCall, row: ToolCallRow): Promise<boolean> {
    if (this.#policy.onUnknown !== 'approve') return false
    const { runId, nodeId } = this.#task
    const call = { runId, nodeId, callId: this.#callId, toolName: metadata.name, input, startedAtMs: row.startedAtMs }
    return (await this.#policy.approve?.(call)) === true
  }

  #isSafe({ sideEffect, idempotent }: StartingCall['metadata']): boolean {
    return !sideEffect || idempotent || this.#policy.metadata.usesIdempotencyKey === true
  }

  #unknown(row: ToolCallRow): ToolError {
    return outcomeUnknown(row, this.#callId)
  }

  #opened({ metadata, builtIn, ctx }: StartingCall, claim: Extract<CallClaim, { claimed: ToolCallRef }>, key: string): OpenRecord {
    const { claimed, lost } = claim
    const { staleAfterMs } = this.#policy
    const onLost = (): void => this.#stop.abort(lost?.reason)
    lost?.addEventListener('abort', onLost, { once: true })
    let [isAbandoned, keyRead] = [false, false]
    const close = (): void => {
      lost?.removeEventListener('abort', onLost)
      stale.cancel()
      this.#open.delete(abandon)
    }
    const end = async (ending: ToolCallEnd): Promise<void> => {
      close()
      await this.#end(claimed, metadata.name, keyRead ? { ...ending, keyRead } : ending, isAbandoned)
    }
    const failed = async (error: unknown, acted: boolean, output?: unknown): Promise<void> => {
      const errorJson = pinnedErrorAsJson(error, output)
      const isUnknown = acted && metadata.sideEffect && this.#stop.signal.aborted
      const mayBeRepeated = this.#isSafe(metadata) || this.#policy.metadata.probe !== undefined
      // A call that may be made again is: its error may have been that of a moment.
      const isOpen = acted && mayBeRepeated && (this.#stop.signal.aborted || !isVerdict(error))
      if (acted && !isUnknown && !isOpen) this.pinnedError = error
      if (isUnknown || (isOpen && metadata.sideEffect)) return end({ status: 'unknown', errorJson })
      return end({ status: 'error', acted: acted && !isOpen, errorJson })
    }
    const abandon = async (error: unknown): Promise<void> => {
      await failed(error, true)
      isAbandoned = true
    }
    const stale = timer(staleAfterMs, () => {
      this.#onStale(neverEnded(metadata.name, Number(claimed.startedAtMs ?? steadyNow()), staleAfterMs))
    })
    this.#open.add(abandon)
    ctx.seq = claimed.seq - 1
    return {
      seq: claimed.seq,
      key,
      task: this.#task,
      keyRead: () => {
        keyRead = true
        noteKeyRead(this.#journal, claimed)
      },
      succeeded: async (output) => end({ status: 'success', ...(await keptOutput(output)) }),
      failed: (error, ending) => failed(error, ending.acted && !(builtIn && wasRefused(error)), ending.output),
    }
  }

  /** Of a tool that does not end though it was told to: its call holds its id no longer, and its outcome counts if it still comes. */
  async abandon(error: unknown): Promise<void> {
    for (const giveUp of this.#open) await giveUp(error)
  }

  /** After the call. It never fails, because what the call did stands, and the engine keeps its result. */
  #end(ref: ToolCallRef, name: string, ending: ToolCallEnd, isLate = false): Awaitable<void> {
    return attempt(
      () => lateOutcomesOf(this.#journal).write(ref, ending),
      () => undefined,
      (error) => {
        // Another execution may have claimed a call that was given up.
        if (isLate) return
        markFailed(this.#journal)
        warnOnce(this.#journal, error, `recording the end of ${name} (call ${ref.seq}) failed`)
      },
    )
  }

  /** What an earlier process has recorded, in place of the call. */
  async #recorded(call: StartingCall, claimed: ClaimedCall, row: ToolCallRow, key: string): Promise<OpenRecord> {
    const { seq } = row
    if (row.status === 'success') {
      const whole = wholeOutput(row)
      if (whole !== undefined) return { seq, key, task: this.#task, recorded: whole, ...silent }
      throw (this.pinnedError = incomplete(row, claimed.callId, this.#task))
    }
    throw (this.pinnedError = pinnedError(row.errorJson) ?? new Error(`${call.metadata.name} failed`))
  }
}

const outcomeOfError = (error: unknown) => (ToolError.isInstance(error) && error.code === 'OUTCOME_UNKNOWN' ? 'unknown' : 'failed')

const silent = { succeeded: () => undefined, failed: () => undefined }
