import type { KeepOptions, ProcessStart } from '../kept-process.js'
import type { RecordProcess } from './process-entry.js'

/** A command line to start. */
export interface StartRequest {
  command: string
  start: ProcessStart
  keep: KeepOptions
  waitMs?: number | undefined
  /** The most bytes of output in the first report. */
  maxBytes?: number | undefined
  /** Aborts the call, and kills the process if the call has not ended. */
  signal?: AbortSignal | undefined
  /** Kills the process when it aborts, at any time. */
  lifetime?: AbortSignal | undefined
  record?: RecordProcess | undefined
}
