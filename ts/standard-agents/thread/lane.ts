/** The queue of the thread itself. */
export const ROOT = 'root'

/** A queue of a thread: its own, or that of a sub-prompt. */
export interface Lane {
  name: string
  side: 'a' | 'b'
  /** What the calls of a sub-prompt find in `state.context` besides. */
  context: Record<string, unknown> | undefined
}
