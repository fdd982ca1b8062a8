import { tellListener } from '../../core/listeners.js'
import type { Envelope } from '../registry/envelope.js'
import type { AcpToolKind } from '../registry/tool-ids.js'

/** A call of a session, for observers. Each call has one object. */
export interface ObservedCall {
  readonly session_id: string
  /** The id of the call. Ids may repeat. */
  readonly call_id: string
  readonly tool: string
  /** A frozen copy of the arguments. */
  readonly args: unknown
  /** The kind that the tool declares. */
  readonly kind: AcpToolKind | undefined
  /** The first root of the workspace, the base of relative paths. */
  readonly workspace: string | undefined
}

/** Observes the calls of a session while they are made. What it throws or rejects with becomes a warning, and changes nothing. */
export interface CallObserver {
  /** A call begins. Nothing has been decided yet. */
  onCall?: ((call: ObservedCall) => void) | undefined
  /** A command of a call has printed this since the last time; see {@link CallOptions.onOutput}. */
  onOutput?: ((call: ObservedCall, text: string) => void) | undefined
  /** A call is over, even if it was refused. */
  onResult?: ((call: ObservedCall, envelope: Envelope) => void) | undefined
}

/** The observers of a session. */
export class CallObservers {
  readonly #observers = new Set<CallObserver>()

  get isEmpty(): boolean {
    return this.#observers.size === 0
  }

  /** Adds an observer. @returns a function that removes it. */
  add(observer: CallObserver): () => void {
    // A copy: the same object may observe twice.
    const { onCall, onOutput, onResult } = observer
    const own = { onCall: onCall?.bind(observer), onOutput: onOutput?.bind(observer), onResult: onResult?.bind(observer) }
    this.#observers.add(own)
    return () => void this.#observers.delete(own)
  }

  tell(call: (observer: CallObserver) => unknown): void {
    for (const observer of this.#observers) tellListener('an observer of calls', () => call(observer))
  }
}
