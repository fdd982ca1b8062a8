/** Records the calls of one step: each is claimed by its id before it is made. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Awaitable, attempt } from '../core/abort.js'
import { steadyNow } from '../core/clock.js'
import { ToolError, wasRefused } from '../core/errors.js'
import { nativeAddon } from '../core/native.js'
import type { CallRecorder, OpenRecord, StartingCall } from '../journal/calls/call-record.js'
import { markFailed, warnOnce } from '../journal/calls/call-record.js'
import { errorAsJson, recordedError, recordedInput, recordedOutput, wholeOutput } from '../journal/calls/recorded-values.js'
import type { Journal } from '../journal/journal.js'
import type { CallClaim, ClaimedCall, TaskId, ToolCallEnd, ToolCallRef, ToolCallRow } from '../journal/journal-store.js'
import { tracedLock } from '../journal/store-channels.js'
import type { DefinedToolMetadata } from '../toolkit/define-tool.js'
import type { UnknownCall } from './unknown-calls.js'

/** How often a call is looked at that another process makes. */
const POLL_MS = 100

export interface ClaimPolicy {
  /** What the tool promises about a second call. */
  metadata: Pick<DefinedToolMetadata, 'usesIdempotencyKey' | 'probe'>
  onUnknown: 'tell' | 'fail' | 'approve'
  approve: ((call: UnknownCall) => Awaitable<boolean>) | undefined
}

export class ClaimRecorder implements CallRecorder {
  readonly #journal: Journal
  readonly #task: TaskId
  readonly #callId: string
  readonly #policy: ClaimPolicy
  readonly #stop: AbortController
  /** The error that a tool threw in an earlier process: it is thrown again as it was recorded. */
  earlierError: Error | undefined
  #calls = 0

  constructor(journal: Journal, task: TaskId, callId: string, policy: ClaimPolicy, stop: AbortController) {
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
      acceptsIdempotencyKey: metadata.acceptsIdempotencyKey,
      hasRevert: metadata.hasRevert,
      idempotencyKey: metadata.acceptsIdempotencyKey ? key : null,
      callToken: ctx.toolCallId,
      argsHash: addon.argsHash(identity),
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
  async #decided(call: StartingCall, claimed: ClaimedCall, key: string): Promise<OpenRecord> {
    for (;;) {
      const claim = await this.#claim(claimed, false)
      if ('claimed' in claim) return this.#opened(call, claim, key)
      if ('recorded' in claim) return this.#recorded(call, claimed, claim.recorded, key)
      if ('unknown' in claim) {
        const record = await this.#decide(call, claimed, claim.unknown, key)
        if (record !== undefined) return record
      }
      // It is being made elsewhere, or was claimed by another process at this moment.
      await pause(POLL_MS, undefined, { signal: this.#stop.signal })
    }
  }

  #claim(call: ClaimedCall, repeat: boolean): Promise<CallClaim> {
    this.#stop.signal.throwIfAborted()
    return this.#journal.claimCall({ ...call, startedAtMs: steadyNow() }, { repeat })
  }

  /** A call whose outcome nobody knows: it is looked up, repeated, or told. */
  async #decide(call: StartingCall, claimed: ClaimedCall, row: ToolCallRow, key: string): Promise<OpenRecord | undefined> {
    const { metadata } = call
    const { usesIdempotencyKey = false, probe } = this.#policy.metadata
    const isSafe = !metadata.sideEffect || metadata.idempotent || usesIdempotencyKey
    const isApproved = !isSafe && probe === undefined && (await this.#isApproved(call, row))
    if (!isSafe && probe === undefined && !isApproved) throw this.#unknown(row)
    const claim = await this.#claim(claimed, true)
    if (!('claimed' in claim)) return undefined
    if (probe !== undefined) {
      const end = (ending: ToolCallEnd): Awaitable<void> => this.#end(claim.claimed, metadata.name, ending)
      try {
        const found = await probe(call.input, { idempotencyKey: key, signal: this.#stop.signal })
        if (found?.done === true) {
          await end({ status: 'success', ...(await recordedOutput(found.output)) })
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

  #unknown({ toolName, startedAtMs }: ToolCallRow): ToolError {
    const summary = 'It is not known whether this call was made'
    const { runId, nodeId } = this.#task
    return new ToolError({
      code: 'OUTCOME_UNKNOWN',
      summary,
      place: `${summary}: ${toolName} began at ${new Date(startedAtMs).toISOString()} in a process that has ended since`,
      hint: 'It was not made again. Look at what it should have changed before you make a new call.',
      details: { runId, nodeId, toolName, callId: this.#callId, startedAtMs },
    })
  }

  #opened({ metadata, builtIn, ctx }: StartingCall, claim: Extract<CallClaim, { claimed: ToolCallRef }>, key: string): OpenRecord {
    const { claimed, lost } = claim
    const onLost = (): void => this.#stop.abort(lost?.reason)
    lost?.addEventListener('abort', onLost, { once: true })
    const end = async (ending: ToolCallEnd): Promise<void> => {
      lost?.removeEventListener('abort', onLost)
      await this.#end(claimed, metadata.name, ending)
    }
    ctx.seq = claimed.seq - 1
    return {
      seq: claimed.seq,
      key,
      task: this.#task,
      succeeded: async (output) => end({ status: 'success', ...(await recordedOutput(output)) }),
      failed: async (error, ending) => {
        const acted = ending.acted && !(builtIn && wasRefused(error))
        const isUnknown = acted && metadata.sideEffect && this.#stop.signal.aborted
        await end({ status: isUnknown ? 'unknown' : 'error', acted, errorJson: errorAsJson(error, ending.output) })
      },
    }
  }

  /** After the call. It never fails, because what the call did stands, and the engine keeps its result. */
  #end(ref: ToolCallRef, name: string, ending: ToolCallEnd): Awaitable<void> {
    return attempt(
      () => this.#journal.updateToolCall(ref, ending),
      () => undefined,
      (error) => {
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
      const { toolName, callId } = claimed
      throw new ToolError({
        code: 'REPLAY_INCOMPLETE',
        summary: 'The recorded output is not complete',
        place: `The recorded output is not complete: ${toolName}, \`${callId}\``,
        hint: 'The call was made and must not be repeated. Look at what it changed, and go on from there.',
        details: { ...this.#task, toolName, attempt: row.attempt, seq },
      })
    }
    this.earlierError = recordedError(row.errorJson) ?? new Error(`${call.metadata.name} failed`)
    throw this.earlierError
  }
}

const outcomeOfError = (error: unknown) => (ToolError.isInstance(error) && error.code === 'OUTCOME_UNKNOWN' ? 'unknown' : 'failed')

const silent = { succeeded: () => undefined, failed: () => undefined }
