import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { NewQueuedCall, StoredCall } from '../store/thread-store.js'
import type { ToolResult } from '../tools/tool-result.js'
import type { Run } from './run.js'

/** A queue of a thread: its own, or that of a sub-prompt. */
export interface CallQueue {
  /** `root` for the thread's own. */
  name: string
  side: 'a' | 'b'
  /** What the calls of a sub-prompt find in `state.context` besides the thread's. */
  context: Record<string, unknown> | undefined
}

/** A call that waits or runs, as this process knows it. */
export interface PendingCall {
  id: string
  queue: CallQueue
  run: Run
  name: string
  argumentsJson: string
  /** The AI SDK's id of the call. @default its own id */
  toolCallId: string
  /** Whether a tool queued it. Otherwise its caller waits for the result. */
  queued: boolean
  /** Its number among the calls that its run has queued. */
  number: number
  parentCallId?: string | undefined
  /** The running call that it is made inside of, by a sub-prompt. */
  inside?: { readonly ended: boolean } | undefined
  /** Its rank among all calls of the process, by creation. */
  arrival: number
  /** Whether it has been claimed. */
  started: boolean
  /** Whether its result is no longer wanted. */
  dropped: boolean
  /** Runs work in the asynchronous context of the caller. */
  inCallerContext: <T>(work: () => T) => T
  /** Reports the result. */
  resolve(result: ToolResult): void
  /** Reports that the call could not be made, or its result not be stored. */
  reject(error: unknown): void
}

let arrivals = 0

/** What is called, and for whom. */
export type CallRequest = Pick<PendingCall, 'queue' | 'run' | 'name' | 'argumentsJson'> & { toolCallId?: string | undefined }

/** Creates a call, in the asynchronous context of its caller. */
export function newCall(
  call: CallRequest & Pick<PendingCall, 'queued'> & Partial<Pick<PendingCall, 'number' | 'parentCallId' | 'inside' | 'resolve' | 'reject'>>,
): PendingCall {
  arrivals += 1
  const id = randomUUID()
  return {
    number: 0,
    resolve: () => undefined,
    reject: () => undefined,
    ...call,
    id,
    toolCallId: call.toolCallId ?? id,
    arrival: arrivals,
    started: false,
    dropped: false,
    inCallerContext: AsyncLocalStorage.snapshot() as PendingCall['inCallerContext'],
  }
}

/** Restores a call that another process queued. */
export function restoredCall(call: StoredCall, queue: CallQueue, run: Run): PendingCall {
  const { toolCallId = call.id, number = 0, queued = true } = readInfo(call.infoJson)
  run.raiseQueued(number)
  const { name, argumentsJson } = call
  return { ...newCall({ queue, run, name, argumentsJson, queued, number, toolCallId }), id: call.id }
}

/** The AI SDK's id of a stored call. */
export const toolCallIdOf = ({ id, infoJson }: StoredCall): string => readInfo(infoJson).toolCallId ?? id

interface CallInfo {
  toolCallId?: string
  number?: number
  queued?: boolean
}

function readInfo(json: string | null): CallInfo {
  try {
    return (JSON.parse(json ?? '{}') ?? {}) as CallInfo
  } catch {
    return {}
  }
}

/** The form in which a call is stored. */
export function toStoredCall({ id, queue, name, argumentsJson, queued, number, toolCallId, parentCallId }: PendingCall): NewQueuedCall {
  return {
    id,
    name,
    argumentsJson,
    queue: queue.name,
    forceAllow: queued,
    parentCallId,
    infoJson: JSON.stringify({ toolCallId, number, queued }),
  }
}
