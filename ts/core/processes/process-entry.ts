import type { KeptProcessEnd } from '../../../index.js'
import type { KeptProcess } from '../kept-process.js'

/** The record of a process besides those of the calls. None of it rejects: it tells of what has happened. */
export interface ProcessRecord {
  /** It could not be started. */
  failed(error: unknown): Promise<void>
  /** It has ended; `isClosed` says that its owner was closed. */
  ended(end: KeptProcessEnd, isClosed: boolean): Promise<void>
  /** The agent was told of its end. */
  told(): Promise<void>
}

/** Makes the record of a process that is about to be started. It throws for one that must not be. */
export type RecordProcess = (id: string, command: string) => Promise<ProcessRecord | undefined>

/** A process as its table knows it. */
export interface TableEntry {
  readonly id: string
  /** Its id with its owner. */
  readonly ownedAs: string
  readonly command: string
  readonly process: KeptProcess
  /** Where the next report on each stream begins. */
  readonly next: { stdout: number; stderr: number }
  readonly isStderrApart: boolean
  /** Texts that no report shows. */
  readonly secrets: string[]
  isInputClosed: boolean
  /** Whether the agent knows of its end, or will when the call that waits for it has ended. */
  isEndTold: boolean
  /** How many calls wait for it. */
  waiters: number
  readonly record: ProcessRecord | undefined
}

/** An end that no report has told of. */
export interface UntoldEnd {
  id: string
  command: string
  end: KeptProcessEnd
  record: ProcessRecord | undefined
}
