import { setTimeout as pause } from 'node:timers/promises'
import { ToolError } from '../../core/errors.js'
import { unlessAborted } from '../../core/abort.js'

/** How many calls of this process open files at once: each takes a few descriptors, which the host needs too. */
const MOST = 32
/** After how long a call is no longer counted: what takes longer waits for something else, and holds nobody up. */
const YOUTH_MS = 1_000
/** How long a call waits for descriptors where the process has none left. */
const PATIENCE_MS = 5_000
const PAUSE_MS = 20

/** One call that is counted. */
export interface OpenCall {
  readonly sinceMs: number
}

/** In the order in which they came. */
const inside = new Set<OpenCall>()
const waiting: ((call: OpenCall) => void)[] = []
let timer: NodeJS.Timeout | undefined

/** Counts a call, after those that came before when there are many. */
export async function enter(signal: AbortSignal): Promise<OpenCall> {
  if (waiting.length === 0 && hasRoom()) return count()
  let mine: (call: OpenCall) => void = () => undefined
  const turn = new Promise<OpenCall>((resolve) => {
    mine = resolve
    waiting.push(resolve)
  })
  lookLater()
  try {
    return await unlessAborted(turn, signal)
  } catch (error) {
    const at = waiting.indexOf(mine)
    if (at === -1) leave(await turn)
    else waiting.splice(at, 1)
    throw error
  }
}

/** It is no longer counted. Leaving again does nothing. */
export function leave(call: OpenCall | undefined): void {
  if (call !== undefined && inside.delete(call)) letIn()
}

function letIn(): void {
  while (waiting.length > 0 && hasRoom()) waiting.shift()?.(count())
  lookLater()
}

/** Those who wait are let in when one of the others has become old, too. */
function lookLater(): void {
  clearTimeout(timer)
  const [first] = inside
  if (waiting.length > 0 && first !== undefined) timer = setTimeout(letIn, Math.max(1, first.sinceMs + YOUTH_MS - performance.now()))
}

function hasRoom(): boolean {
  if (inside.size < MOST) return true
  const now = performance.now()
  for (const call of inside) {
    if (now - call.sinceMs < YOUTH_MS) break
    inside.delete(call)
  }
  return inside.size < MOST
}

function count(): OpenCall {
  const call = { sinceMs: performance.now() }
  inside.add(call)
  return call
}

/** Does what takes a descriptor; where the process has none left, others may give theirs back in a moment. */
export async function withDescriptor<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const { errno } = ToolError.isInstance(error) ? error.details : {}
      if ((errno !== 'EMFILE' && errno !== 'ENFILE') || performance.now() > deadline) throw error
      await pause(PAUSE_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
}
