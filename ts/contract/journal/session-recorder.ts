import type { CallKeys } from '../../../index.js'
import { ownCopyOf } from '../../core/argument-copy.js'
import type { ReportedPatch } from '../../core/command-patches.js'
import { CallRow } from '../../journal/calls/call-record.js'
import { type CallWithPatches, patchRow } from '../../journal/calls/patches-in-call.js'
import type { Journal } from '../../journal/journal.js'
import type { SeenFiles } from '../../journal/seen-files.js'
import type { Awaitable, TaskId, TaskLock, ToolCallEnd } from '../../journal/journal-store.js'
import type { RecordedInput } from '../../journal/calls/recorded-values.js'
import { nativeCallKeys } from '../../core/native.js'
import { contractCodes, type Envelope } from '../registry/envelope.js'
import { isLockedToolId } from '../registry/tool-ids.js'
import { steadyNow } from '../../core/clock.js'
import { ToolError } from '../../core/errors.js'
import { ApprovalRecord } from './approval-record.js'
import { BackgroundRecord } from './background-record.js'
import { recordedArguments, serializeEnvelope } from './recorded-call.js'

/** The journal's node of a session's calls. The run is the session. */
export const SESSION_NODE = 'contract'

/**
 * A record for the host's own store: one when a call begins, one when it is over. It is a copy, which the store may change.
 * Refused arguments are replaced by `{ refused: … }`.
 */
export type RecordPart =
  | { type: 'call'; session_id: string; call_id: string; tool: string; args: unknown }
  | { type: 'result'; session_id: string; call_id: string; tool: string; args: unknown; envelope: Envelope }

export interface RecordedCall {
  callId: string
  tool: string
  /** Frozen. */
  args: unknown
  /** Whether the call is also recorded before it is made. */
  effect: boolean
  /** Whether a hook of the host gave the call other arguments. */
  changedByHost?: boolean | undefined
}

export interface CallRecord {
  /** Where the call stands in a journal. */
  readonly place: { runId: string; nodeId: string; seq: number }
  /** Announces the call to the host's own store. Rejects as `begin` does. */
  announce(): Promise<void>
  /** Records the call before the tool runs. Rejects if the call must not be made because it cannot be recorded. */
  begin(): Promise<void>
  /** Records the patches that a command of the call has applied, beside the calls of the session. Does not reject. */
  patched(patches: readonly ReportedPatch[], rootDir: string | undefined): Promise<void>
  /**
   * Records the outcome before the caller gets it. Does not reject, since the call has been made. `waitedMs` is how long it
   * waited for the user; absent if nobody was asked. `seen` has what the call made known of files.
   */
  end(envelope: Envelope, acted: boolean, more?: { waitedMs?: number | undefined; seen?: SeenFiles | undefined }): Promise<void>
}

interface RecorderSource {
  sessionId: string
  /** The name of the agent, for a reader of the journal. */
  agent?: string | undefined
  place: { runId: string; nodeId: string }
  journal: Journal | undefined
  onRecord: ((part: RecordPart) => unknown) | undefined
}

/** Records a session's calls: in a journal, in the host's own store, or both. */
export class SessionRecorder {
  /** The background tasks. Without a journal the session cannot be opened again, and needs no record of them. */
  readonly background: BackgroundRecord | undefined
  /** The questions that are answered later. Without a journal only this process can take the answers. */
  readonly approvals: ApprovalRecord | undefined
  readonly #source: RecorderSource
  readonly #keys: CallKeys | undefined
  readonly #attempt: number
  readonly #lock: TaskLock | undefined
  #seq = 0
  #ended = 0
  #patches = 0

  private constructor(source: RecorderSource, keys: CallKeys | undefined, { attempt, lock }: LockedAttempt) {
    const { journal, place } = source
    this.#source = source
    this.#keys = keys
    this.#attempt = attempt
    this.#lock = lock
    this.background = journal === undefined ? undefined : new BackgroundRecord(journal, place, attempt)
    this.approvals = journal === undefined ? undefined : new ApprovalRecord(journal, place)
  }

  /** A session that is opened again continues as another attempt of the same run. */
  static async open(source: RecorderSource): Promise<SessionRecorder> {
    const { journal, place } = source
    if (journal === undefined) return new SessionRecorder(source, undefined, { attempt: 1 })
    const task: TaskId = { runId: place.runId, nodeId: place.nodeId, iteration: 0 }
    return new SessionRecorder(source, await nativeCallKeys(task), await lockAttempt(journal, task))
  }

  /** Aborted when another process may have taken over the session: this one can record no more effects. */
  get lost(): AbortSignal | undefined {
    return this.#lock?.lost
  }

  /** Gives the attempt free. Its rows must be on disk by then, where another process counts them. */
  async close(): Promise<void> {
    try {
      await this.#source.journal?.flush()
    } finally {
      await this.#lock?.release()
    }
  }

  open({ callId, tool, args, effect, changedByHost }: RecordedCall): CallRecord {
    this.#seq += 1
    const { sessionId, agent, journal, onRecord } = this.#source
    const row = journal === undefined ? undefined : this.#row(journal, { callId, tool, args, effect })
    const part = () => ({ session_id: sessionId, call_id: callId, tool, args: ownCopyOf(args) })
    const beganAfter = this.#ended
    const seq = this.#seq
    return {
      place: { ...this.#source.place, seq },
      announce: async () => {
        await onRecord?.({ type: 'call', ...part() })
      },
      begin: async () => {
        await (await row)?.begin()
      },
      patched: async (patches, rootDir) => {
        if (journal === undefined) return
        for (const patch of patches) await this.#recordPatch(journal, patch, { tool, seq, rootDir })
      },
      end: async (envelope, acted, { waitedMs, seen } = {}) => {
        this.#ended += 1
        if (row !== undefined) {
          const json = serializeEnvelope(tool, envelope, { order: [beganAfter, this.#ended], waitedMs, agent, changedByHost })
          await (await row).end({ ...endOf(envelope, json, acted && effect), acted, seen: seen?.takeRecord() })
        }
        try {
          await onRecord?.({ type: 'result', ...part(), envelope: ownCopyOf(envelope) })
        } catch (error) {
          process.emitWarning(`toolwright: onRecord failed for ${tool}: ${String(error)}`)
        }
      },
    }
  }

  /** Under a node of its own: a replay gives what the model called, and it has not called the program. */
  async #recordPatch(journal: Journal, patch: ReportedPatch, call: CallWithPatches): Promise<void> {
    const { runId, nodeId } = this.#source.place
    const [facts, ending] = patchRow(patch, call)
    this.#patches += 1
    const place = { runId, nodeId: `${nodeId}/patches`, attempt: this.#attempt, seq: this.#patches }
    await new CallRow(journal, { ...place, ...facts }).end(ending)
  }

  #row(journal: Journal, { callId, tool, args, effect }: RecordedCall): Awaitable<CallRow> {
    const { runId, nodeId } = this.#source.place
    const place = { runId, nodeId, attempt: this.#attempt, seq: this.#seq }
    const startedAtMs = steadyNow()
    const row = ({ inputJson, identity }: RecordedInput): CallRow => {
      const key = this.#keys?.take(tool, identity)
      const redacts = journal.redactKeys && !isLockedToolId(tool)
      return new CallRow(journal, {
        ...place,
        toolName: tool,
        inputJson: redacts ? this.#keys?.withoutSecrets(inputJson ?? 'null') : inputJson,
        startedAtMs,
        sideEffect: effect,
        idempotent: !effect,
        callToken: callId,
        argsHash: key?.argsHash,
        ordinal: key?.ordinal,
      })
    }
    const input = recordedArguments(tool, args)
    return 'then' in input ? input.then(row) : row(input)
  }
}

interface LockedAttempt {
  attempt: number
  lock?: TaskLock
}

/** Locks the next attempt of a session that no other process has: two may open one session at the same moment. */
async function lockAttempt(journal: Journal, task: TaskId): Promise<LockedAttempt> {
  const next = async () => ((await journal.lastAttempt(task))?.attempt ?? 0) + 1
  for (let attempt = await next(); ;) {
    try {
      const lock = await journal.lockTask({ ...task, nodeId: `${task.nodeId}/attempts`, iteration: attempt }, attempt)
      // Its last holder may have recorded calls since the attempts were counted.
      const free = await next()
      if (free <= attempt) return { attempt, lock }
      await lock.release()
      attempt = free
    } catch (error) {
      if (!ToolError.isInstance(error) || error.code !== 'JOURNAL_TASK_LOCKED') throw error
      attempt += 1
    }
  }
}

/** A call with a side effect that was stopped midway has an unknown outcome. */
function endOf(envelope: Envelope, json: string, hasActed: boolean): ToolCallEnd {
  if (envelope.type === 'output') return { status: 'success', outputJson: json, whole: true }
  const isUnknown = hasActed && contractCodes[envelope.metadata.code] === 'stopped'
  return { status: isUnknown ? 'unknown' : 'error', errorJson: json, whole: true }
}
