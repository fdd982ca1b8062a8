import { Slots } from '../../core/abort.js'

/** How many calls of this process open files at once. Each takes a few descriptors, which the host needs too. */
const MAX_OPEN_CALLS = 32
/** A call counts for this long. A call that takes longer waits for something else, and must not hold up others. */
const SLOT_MS = 1_000

const slots = new Slots(MAX_OPEN_CALLS)

/** Waits for a slot, behind the calls that came before. @returns a function that frees it. */
export function acquireSlot(signal: AbortSignal): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const hold = (): Promise<void> =>
      new Promise((free) => {
        const timer = setTimeout(free, SLOT_MS)
        resolve(() => {
          clearTimeout(timer)
          free()
        })
      })
    slots.run(hold, signal).catch(reject)
  })
}
