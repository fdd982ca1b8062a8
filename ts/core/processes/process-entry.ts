import type { KeptProcessEnd } from '../../../index.js'
import type { KeptProcess } from '../kept-process.js'

/** The record of a process, besides those of its calls. Its methods never reject, because they only report events. */
export interface ProcessRecord {
  /** It goes on with another owner, under another id, and has a record of its own there. */
  detached(id: string): Promise<void>
  /** The process could not be started. */
  failed(error: unknown): Promise<void>
  /** The process has ended; with `isClosed`, because its owner was closed. */
  ended(end: KeptProcessEnd, isClosed: boolean): Promise<void>
  /** The end has been reported to the agent. */
  told(): Promise<void>
}

/** Makes the record of a process before its start. It throws if the process must not start. */
export type RecordProcess = (id: string, command: string) => Promise<ProcessRecord | undefined>

/** A process in its table. */
export interface TableEntry {
  readonly id: string
  /** Its name in its owner. */
  readonly ownedAs: string
  readonly command: string
  readonly process: KeptProcess
  /** The positions at which the next reports of the streams begin. */
  readonly next: { stdout: number; stderr: number }
  readonly isStderrApart: boolean
  /** Secret texts, which no report shows. */
  readonly secrets: string[]
  isInputClosed: boolean
  /** Whether the end has been reported, or will be by the call that waits for it. */
  isEndTold: boolean
  /** The number of calls that wait for the process. */
  waiters: number
  readonly record: ProcessRecord | undefined
  readonly makeRecord: RecordProcess | undefined
  /** Settles with its end. It does not keep the program alive. */
  readonly ended: Promise<KeptProcessEnd>
  /** Has the signal that ends it end it no more. */
  readonly letGo: (() => void) | undefined
}

/** An end that no report has had. */
export interface UntoldEnd {
  id: string
  command: string
  end: KeptProcessEnd
  record: ProcessRecord | undefined
}
