/** Arguments and results of the process tools, the same at every door. */

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

/** The state of a process, and a part of its output. */
export interface ProcessReport {
  process_id: string
  running: boolean
  /** The output from `from` to `next`. Bytes that are not UTF-8 are shown as U+FFFD. */
  output: string
  /** The position of `output`, in bytes from the beginning of the stream. */
  from: number
  /** The position of the next part. */
  next: number
  /** The number of requested bytes before `from` that are no longer kept. */
  missing_bytes?: number
  /** The number of bytes that had been written after `next`. */
  unread_bytes?: number
  /** The number of unread bytes of stderr, if it is a separate stream. */
  stderr_unread_bytes?: number
  /** The lowest TCP port at which the process listens. */
  port?: number
  /** Whether the process waits for input; absent if the system does not tell. */
  waits_for_input?: boolean
  /** The exit code, after the end; `null` if a signal ended the process. */
  exit_code?: number | null
  /** The signal that ended the process; `null` if none did. */
  signal?: string | null
  /** Further facts for the model. */
  notes?: string[]
}
