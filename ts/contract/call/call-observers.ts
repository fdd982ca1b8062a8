import { tellListener } from '../../core/listeners.js'
import type { Envelope } from '../registry/envelope.js'
import type { AcpToolKind } from '../registry/tool-ids.js'

/** A call of a session, as observers see it. The same object stands for the same call. */
export interface ObservedCall {
  readonly session_id: string
  /** The same id may come again. */
  readonly call_id: string
  readonly tool: string
  /** A frozen copy. */
  readonly args: unknown
  /** The kind that the tool declares. */
  readonly kind: AcpToolKind | undefined
  /** The first root of the workspace, where relative paths begin. */
  readonly workspace: string | undefined
}

/** Hears of the calls of a session while they are made. What it throws, or rejects with, is a warning, and changes nothing. */
export interface CallObserver {
  /** A call begins: nothing has been decided yet. */
  onCall?: ((call: ObservedCall) => void) | undefined
  /** A command of a call has printed this since the last time; see {@link CallOptions.onOutput}. */
  onOutput?: ((call: ObservedCall, text: string) => void) | undefined
  /** A call is over, also one that was refused. */
  onResult?: ((call: ObservedCall, envelope: Envelope) => void) | undefined
}

/** The observers of a session. */
export class CallObservers {
  readonly #observers = new Set<CallObserver>()

  get isEmpty(): boolean {
    return this.#observers.size === 0
  }

  /** @returns what ends it. */
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
