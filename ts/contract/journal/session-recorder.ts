import type { CallKeys } from '../../../index.js'
import { ownCopyOf } from '../../core/argument-copy.js'
import { CallRow } from '../../journal/calls/call-record.js'
import type { Journal } from '../../journal/journal.js'
import type { Awaitable, TaskId, ToolCallEnd } from '../../journal/journal-store.js'
import type { RecordedInput } from '../../journal/calls/recorded-values.js'
import { nativeCallKeys } from '../../core/native.js'
import { contractCodes, type Envelope } from '../registry/envelope.js'
import { isLockedToolId } from '../registry/tool-ids.js'
import { steadyNow } from '../../core/clock.js'
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

/** A call that is to be recorded. */
export interface RecordedCall {
  callId: string
  tool: string
  /** Frozen. */
  args: unknown
  /** Whether the call is also recorded before it is made. */
  effect: boolean
}

/** The record of one call. */
export interface CallRecord {
  /** Announces the call to the host's own store. Rejects as `begin` does. */
  announce(): Promise<void>
  /** Records the call before the tool runs. Rejects if the call must not be made because it cannot be recorded. */
  begin(): Promise<void>
  /** Records the outcome before the caller gets it. Does not reject, since the call has been made. */
  end(envelope: Envelope, acted: boolean): Promise<void>
}

/** Records a session's calls: in a journal, in the host's own store, or both. */
export class SessionRecorder {
  /** The background tasks. Without a journal the session cannot be opened again, and needs no record of them. */
  readonly background: BackgroundRecord | undefined
  readonly #sessionId: string
  readonly #place: { runId: string; nodeId: string }
  readonly #journal: Journal | undefined
  readonly #onRecord: ((part: RecordPart) => unknown) | undefined
  readonly #keys: CallKeys | undefined
  readonly #attempt: number
  #seq = 0
  #ended = 0

  private constructor(
    sessionId: string,
    place: { runId: string; nodeId: string },
    journal: Journal | undefined,
    onRecord: ((part: RecordPart) => unknown) | undefined,
    keys: CallKeys | undefined,
    attempt: number,
  ) {
    this.#sessionId = sessionId
    this.#place = place
    this.#journal = journal
    this.#onRecord = onRecord
    this.#keys = keys
    this.#attempt = attempt
    this.background = journal === undefined ? undefined : new BackgroundRecord(journal, place, attempt)
  }

  /** A session that is opened again continues as another attempt of the same run. */
  static async open(
    sessionId: string,
    journal: Journal | undefined,
    onRecord: ((part: RecordPart) => unknown) | undefined,
    place: { runId: string; nodeId: string } = { runId: sessionId, nodeId: SESSION_NODE },
  ): Promise<SessionRecorder> {
    if (journal === undefined) return new SessionRecorder(sessionId, place, undefined, onRecord, undefined, 1)
    const task: TaskId = { runId: place.runId, nodeId: place.nodeId, iteration: 0 }
    const [last, keys] = [await journal.lastAttempt(task), await nativeCallKeys(task)]
    return new SessionRecorder(sessionId, place, journal, onRecord, keys, (last?.attempt ?? 0) + 1)
  }

  /** The record of a new call. */
  open({ callId, tool, args, effect }: RecordedCall): CallRecord {
    this.#seq += 1
    const journal = this.#journal
    const row = journal === undefined ? undefined : this.#row(journal, { callId, tool, args, effect })
    const part = () => ({ session_id: this.#sessionId, call_id: callId, tool, args: ownCopyOf(args) })
    const beganAfter = this.#ended
    return {
      announce: async () => {
        await this.#onRecord?.({ type: 'call', ...part() })
      },
      begin: async () => {
        await (await row)?.begin()
      },
      end: async (envelope, acted) => {
        this.#ended += 1
        if (row !== undefined) {
          const json = serializeEnvelope(tool, envelope, [beganAfter, this.#ended])
          await (await row).end({ ...endOf(envelope, json, acted && effect), acted })
        }
        try {
          await this.#onRecord?.({ type: 'result', ...part(), envelope: ownCopyOf(envelope) })
        } catch (error) {
          process.emitWarning(`toolwright: onRecord failed for ${tool}: ${String(error)}`)
        }
      },
    }
  }

  #row(journal: Journal, { callId, tool, args, effect }: RecordedCall): Awaitable<CallRow> {
    const place = { runId: this.#place.runId, nodeId: this.#place.nodeId, attempt: this.#attempt, seq: this.#seq }
    const startedAtMs = steadyNow()
    const row = ({ shown, identity }: RecordedInput): CallRow => {
      const known = this.#keys?.take(tool, identity)
      const redacts = journal.redactKeys && !isLockedToolId(tool)
      return new CallRow(journal, {
        ...place,
        toolName: tool,
        inputJson: redacts ? this.#keys?.withoutSecrets(shown ?? 'null') : shown,
        startedAtMs,
        sideEffect: effect,
        idempotent: !effect,
        callToken: callId,
        argsHash: known?.argsHash,
        ordinal: known?.ordinal,
      })
    }
    const input = recordedArguments(tool, args)
    return 'then' in input ? input.then(row) : row(input)
  }
}

/** A call with a side effect that was stopped midway has an unknown outcome. */
function endOf(envelope: Envelope, json: string, hasActed: boolean): ToolCallEnd {
  if (envelope.type === 'output') return { status: 'success', outputJson: json, whole: true }
  const isUnknown = hasActed && contractCodes[envelope.metadata.code] === 'stopped'
  return { status: isUnknown ? 'unknown' : 'error', errorJson: json, whole: true }
}
