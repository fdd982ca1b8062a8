import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { NewQueuedCall, StoredCall } from '../store/thread-store.js'
import type { ToolResult } from '../tools/tool-definition.js'
import type { Lane } from './lane.js'
import type { RunningCall } from './running-call.js'
import type { Run } from './run.js'

/** What this process knows of a call that waits or runs. */
export interface Ticket {
  id: string
  lane: Lane
  run: Run
  name: string
  argumentsJson: string
  /** The AI SDK's id of the call. @default its own id */
  toolCallId: string
  /** Whether a tool queued it; else somebody waits for its result. */
  queued: boolean
  /** Its number among the calls that its run has queued. */
  number: number
  parentCallId?: string | undefined
  /** The call that it is made inside of, by a sub-prompt. */
  inside?: RunningCall | undefined
  /** When it was made, among all calls of the process. */
  arrival: number
  /** Whether it has been claimed. */
  started: boolean
  /** Whether nobody wants it any more. */
  dropped: boolean
  /** Runs something in the asynchronous context of whoever made the call. */
  within: <T>(work: () => T) => T
  /** Told how it ended. */
  ended(result: ToolResult): void
  /** Told that it could not be made, or not be kept. */
  failed(error: unknown): void
}

let arrivals = 0

/** A call that is made now. */
export function newTicket(
  call: Pick<Ticket, 'lane' | 'run' | 'name' | 'argumentsJson' | 'queued'> &
    Partial<Pick<Ticket, 'number' | 'toolCallId' | 'parentCallId' | 'inside' | 'ended' | 'failed'>>,
): Ticket {
  arrivals += 1
  const id = randomUUID()
  const within = AsyncLocalStorage.snapshot() as <T>(work: () => T) => T
  return {
    number: 0,
    toolCallId: id,
    ended: () => undefined,
    failed: () => undefined,
    ...call,
    id,
    arrival: arrivals,
    started: false,
    dropped: false,
    within,
  }
}

/** A call that was queued by a process that has ended, or by another one. */
export function foundTicket(call: StoredCall, lane: Lane, run: Run): Ticket {
  const { toolCallId = call.id, number = 0, queued = true } = readInfo(call.infoJson)
  run.sawNumber(number)
  const { name, argumentsJson } = call
  return { ...newTicket({ lane, run, name, argumentsJson, queued, number, toolCallId }), id: call.id }
}

/** The AI SDK's id of a call in the store. */
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

/** A call as it is put into the store. */
export function toStore({ id, lane, name, argumentsJson, queued, number, toolCallId, parentCallId }: Ticket): NewQueuedCall {
  return {
    id,
    name,
    argumentsJson,
    queue: lane.name,
    forceAllow: queued,
    parentCallId,
    infoJson: JSON.stringify({ toolCallId, number, queued }),
  }
}
