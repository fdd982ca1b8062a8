/** What the tools of processes take and give, the same at every door. */

/** Arguments of `process_start`. */
export interface ProcessStartArguments {
  command: string
  workdir?: string | undefined
  terminal?: boolean | undefined
  wait_ms?: number | undefined
  description?: string | undefined
}

/** Arguments of `process_read`. */
export interface ProcessReadArguments {
  process_id: string
  from?: number | undefined
  stream?: 'stdout' | 'stderr' | undefined
  max_bytes?: number | undefined
  wait_ms?: number | undefined
}

/** Arguments of `process_write`. */
export interface ProcessWriteArguments {
  process_id: string
  text?: string | undefined
  keys?: readonly ProcessKey[] | undefined
  close_input?: boolean | undefined
  secret?: boolean | undefined
  wait_ms?: number | undefined
}

/** Arguments of `process_stop`. */
export interface ProcessStopArguments {
  process_id: string
  grace_ms?: number | undefined
}

/** Keys that have no character. */
export const processKeys = [
  'enter',
  'tab',
  'escape',
  'backspace',
  'delete',
  'up',
  'down',
  'left',
  'right',
  'home',
  'end',
  'page_up',
  'page_down',
  'ctrl+a',
  'ctrl+c',
  'ctrl+d',
  'ctrl+e',
  'ctrl+l',
  'ctrl+r',
  'ctrl+u',
  'ctrl+w',
  'ctrl+x',
  'ctrl+z',
  'ctrl+backslash',
] as const

/** One of {@link processKeys}. */
export type ProcessKey = (typeof processKeys)[number]

/** What became of a process so far, and a part of its output. */
export interface ProcessReport {
  process_id: string
  running: boolean
  /** The output from `from` to `next`. Bytes that are no UTF-8 are shown as U+FFFD. */
  output: string
  /** Where the output begins, in bytes from the beginning of the stream. */
  from: number
  /** Where the next part begins. */
  next: number
  /** How much of what was asked for is no longer kept: it came before `from`. */
  missing_bytes?: number
  /** How much had been written behind `next`. */
  unread_bytes?: number
  /** How much of stderr has not been read, where it is a stream of its own. */
  stderr_unread_bytes?: number
  /** A TCP port at which the process listens: the lowest of them. */
  port?: number
  /** Whether it waits for input, as far as the system says. */
  waits_for_input?: boolean
  /** After its end. `null` when a signal ended it. */
  exit_code?: number | null
  /** The signal that ended it; `null` without one. */
  signal?: string | null
  /** What there is to know besides. */
  notes?: string[]
}
