import { ToolError } from '../../core/errors.js'
import type { Message } from './thread-state.js'

/** How many calls a call may lead to by `queueTool`, and they by theirs. */
export const MAX_QUEUED_CALLS = 1000

/** What an agent of the AI SDK says while it runs. */
export interface LiveFields {
  messageHistory: readonly Message[]
  turnCount: number
}

/** A call from outside, and all that is queued because of it. */
export class Run {
  /** Shared by its calls. */
  readonly context: Record<string, unknown>
  readonly signal: AbortSignal | undefined
  readonly live: LiveFields | undefined
  #queued: number
  #open = 0
  #waiting: (() => void)[] = []

  /** `queued` is how many calls it has queued before this process had it. */
  constructor(context: Record<string, unknown>, signal?: AbortSignal, live?: LiveFields, queued = 0) {
    this.context = context
    this.signal = signal
    this.live = live
    this.#queued = queued
  }

  /**
   * Counts a call that it queues, and gives its number.
   *
   * @throws {ToolError} THREAD_QUEUE_LIMIT for one too many.
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

  /** A number of a call that was queued before this process had it. */
  sawNumber(number: number): void {
    this.#queued = Math.max(this.#queued, number)
  }

  begin(): void {
    this.#open += 1
  }

  end(): void {
    this.#open -= 1
    if (this.#open > 0) return
    for (const go of this.#waiting.splice(0)) go()
  }

  /** Settles when none of its calls is left. */
  async drained(): Promise<void> {
    if (this.#open > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}
