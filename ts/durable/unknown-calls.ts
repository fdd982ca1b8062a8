import type { Awaitable } from '../core/abort.js'

/** A call that an earlier process began, and of which nobody knows whether it was made. */
export interface UnknownCall {
  runId: string
  nodeId: string
  callId: string
  toolName: string
  input: unknown
  /** When it began, in milliseconds since 1970. */
  startedAtMs: number
}

/** What is done about a call that may neither be repeated nor looked up. */
export interface UnknownCallOptions {
  /**
   * `tell`: the call fails with OUTCOME_UNKNOWN, which a model reads as the result of its tool. `fail`: the same, and the run ends
   * with it. `approve`: `approve` is asked; without its consent, the model is told.
   * @default 'tell'
   */
  onUnknown?: 'tell' | 'fail' | 'approve' | undefined
  /**
   * How long a call may run, in milliseconds. After it, the signal of the tool is aborted, and the outcome of the call counts as unknown:
   * nobody waits for it any longer, and it is still recorded if it comes. Give tools that work for hours a longer time.
   * @default 3600000
   */
  staleAfterMs?: number | undefined
  /** Whether an unknown call may be made again, for `onUnknown: 'approve'`. */
  approve?: ((call: UnknownCall) => Awaitable<boolean>) | undefined
}

/** The default of `staleAfterMs`. */
export const STALE_AFTER_MS = 3_600_000
