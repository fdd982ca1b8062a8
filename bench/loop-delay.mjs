import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

/** How often the sampler's timer is due. The timers of both runtimes are no finer. */
const RESOLUTION_MS = 1
/**
 * Long enough for the sampler to fire before the work begins, and once more after it. It must not be
 * reset in between: it would forget when it fired last, and with it a block right at the start.
 */
const MARGIN_MS = 5

/**
 * Runs `work` and tells how long it took, and how long the event loop could not do anything else
 * while it ran: the longest time between two firings of a timer that is due every millisecond, less
 * that millisecond.
 *
 * The sampler is a timer of the runtime and not a chain of `setImmediate`: such a chain never lets
 * the loop sleep, and takes one of the machine's cores from the work that is measured.
 *
 * @param {() => Promise<unknown>} work
 * @returns {Promise<{ ms: number, delayMs: number }>}
 */
export async function withLoopDelay(work) {
  const sampler = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  sampler.enable()
  await sleep(MARGIN_MS)
  const start = performance.now()
  await work()
  const ms = performance.now() - start
  await sleep(MARGIN_MS)
  sampler.disable()
  return { ms, delayMs: Math.max(0, sampler.max / 1e6 - RESOLUTION_MS) }
}
