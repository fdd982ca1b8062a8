import { ToolError } from '../../core/errors.js'
import type { Message } from './thread-state.js'

/** How many calls one call may lead to by `queueTool`, including those that they queue. */
const MAX_QUEUED_CALLS = 1000

/** What the AI SDK reports while an agent runs. */
export interface LiveFields {
  messageHistory: readonly Message[]
  turnCount: number
}

/** A call from outside, and every call queued because of it. */
export class Run {
  /** Shared by its calls. */
  readonly context: Record<string, unknown>
  readonly signal: AbortSignal | undefined
  readonly live: LiveFields | undefined
  #queued = 0
  #open = 0
  #waiting: (() => void)[] = []

  constructor(context: Record<string, unknown>, signal?: AbortSignal, live?: LiveFields) {
    this.context = context
    this.signal = signal
    this.live = live
  }

  /**
   * Counts a queued call and returns its number.
   *
   * @throws {ToolError} THREAD_QUEUE_LIMIT beyond the limit.
   */
  countQueued(toolName: string): number {
    if (this.#queued >= MAX_QUEUED_CALLS) {
      throw new ToolError({
        code: 'THREAD_QUEUE_LIMIT',
        summary: `Queue limit reached (${MAX_QUEUED_CALLS} calls)`,
        place: `Queue limit reached: one call has led to ${MAX_QUEUED_CALLS} queued calls, and \`${toolName}\` would be one more`,
        hint: 'Let the tool end its chain, or go on with a new call.',
        details: { toolName, limit: MAX_QUEUED_CALLS },
      })
    }
    this.#queued += 1
    return this.#queued
  }

  /** Takes into account a call that the run queued in another process. */
  raiseQueued(number: number): void {
    this.#queued = Math.max(this.#queued, number)
  }

  begin(): void {
    this.#open += 1
  }

  end(): void {
    this.#open -= 1
    if (this.#open > 0) return
    for (const resume of this.#waiting.splice(0)) resume()
  }

  /** Settles when none of its calls is pending. */
  async drained(): Promise<void> {
    if (this.#open > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}
