import { setTimeout } from 'node:timers/promises'
import { ToolError } from '../errors.js'
import { unlessAborted } from '../unless-aborted.js'

/** How many calls of this process hold files open at once: every one of them takes descriptors, which the host needs too. */
const MOST = 128
/** How long a call waits for another one to end. Some wait for an answer of a person, and hold nobody up for longer. */
const WAIT_MS = 250
/** How long a call waits for descriptors where the process has none left. */
const PATIENCE_MS = 5_000
const PAUSE_MS = 20

let open = 0
const waiting: (() => void)[] = []

/** Waits for its turn where many calls hold files. Whoever enters leaves, once. */
export async function enter(signal: AbortSignal): Promise<void> {
  if (open >= MOST) await turn(signal)
  open += 1
}

/** Lets the next one enter. */
export function leave(): void {
  open -= 1
  waiting.shift()?.()
}

async function turn(signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const turned = new Promise<void>((resolve) => void waiting.push(resolve))
  const mine = waiting.at(-1) as () => void
  const late = setTimeout(WAIT_MS, undefined, { signal: over.signal, ref: true }).catch(() => undefined)
  try {
    await unlessAborted(Promise.race([turned, late]), signal)
  } finally {
    over.abort()
    const at = waiting.indexOf(mine)
    if (at !== -1) waiting.splice(at, 1)
  }
}

/** Opens something; where the process has no descriptor left, others may give theirs back in a moment. */
export async function withDescriptor<T>(opening: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await opening()
    } catch (error) {
      const { errno } = ToolError.isInstance(error) ? error.details : {}
      if ((errno !== 'EMFILE' && errno !== 'ENFILE') || performance.now() > deadline) throw error
      await setTimeout(PAUSE_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
}
