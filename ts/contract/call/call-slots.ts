import { setTimeout as pause } from 'node:timers/promises'
import { ToolError } from '../../core/errors.js'
import { unlessAborted } from '../../core/abort.js'

/** How many calls of this process open files at once. Each takes a few descriptors, which the host needs too. */
const MAX_OPEN_CALLS = 32
/** A call counts for this long. A call that takes longer waits for something else, and must not hold up others. */
const SLOT_MS = 1_000
/** How long a call waits for a descriptor when the process has none left. */
const DESCRIPTOR_WAIT_MS = 5_000
const PAUSE_MS = 20

/** A call that counts among those that open files. */
export interface CallSlot {
  readonly sinceMs: number
}

/** In order of arrival. */
const active = new Set<CallSlot>()
const waiting: ((call: CallSlot) => void)[] = []
let timer: NodeJS.Timeout | undefined

/** Waits for a slot, behind the calls that came before. */
export async function acquireSlot(signal: AbortSignal): Promise<CallSlot> {
  if (waiting.length === 0 && hasRoom()) return count()
  let resume: (call: CallSlot) => void = () => undefined
  const turn = new Promise<CallSlot>((resolve) => {
    resume = resolve
    waiting.push(resolve)
  })
  scheduleAdmission()
  try {
    return await unlessAborted(turn, signal)
  } catch (error) {
    const at = waiting.indexOf(resume)
    if (at === -1) releaseSlot(await turn)
    else waiting.splice(at, 1)
    throw error
  }
}

/** Frees a slot. Freeing it again does nothing. */
export function releaseSlot(call: CallSlot | undefined): void {
  if (call !== undefined && active.delete(call)) admit()
}

function admit(): void {
  while (waiting.length > 0 && hasRoom()) waiting.shift()?.(count())
  scheduleAdmission()
}

/** Admits waiting calls also when an active call has had its slot for long enough. */
function scheduleAdmission(): void {
  clearTimeout(timer)
  const [first] = active
  if (waiting.length > 0 && first !== undefined) timer = setTimeout(admit, Math.max(1, first.sinceMs + SLOT_MS - performance.now()))
}

function hasRoom(): boolean {
  if (active.size < MAX_OPEN_CALLS) return true
  const now = performance.now()
  for (const call of active) {
    if (now - call.sinceMs < SLOT_MS) break
    active.delete(call)
  }
  return active.size < MAX_OPEN_CALLS
}

function count(): CallSlot {
  const call = { sinceMs: performance.now() }
  active.add(call)
  return call
}

/** Does work that takes a descriptor. If the process has none left, it tries again, since other calls free theirs soon. */
export async function withDescriptor<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const deadline = performance.now() + DESCRIPTOR_WAIT_MS
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
