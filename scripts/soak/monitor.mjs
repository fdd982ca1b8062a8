// What a process uses, sample by sample, and how long its event loop does not turn.
import { readdirSync, readFileSync } from 'node:fs'

/** How often the event loop is expected to turn. */
const TICK_MS = 5
/** Delays are counted by tenths of a millisecond; longer ones together. */
const TENTHS = 100_000

/** How often delays of each length came. */
class Histogram {
  #counts = new Uint32Array(TENTHS + 1)
  count = 0
  max = 0

  add(ms) {
    this.#counts[Math.min(TENTHS, Math.max(0, Math.round(ms * 10)))] += 1
    this.count += 1
    this.max = Math.max(this.max, ms)
  }

  /** @param {number} share 0 to 1 */
  quantile(share) {
    let left = Math.ceil(this.count * share)
    for (let tenths = 0; tenths <= TENTHS; tenths += 1) {
      left -= this.#counts[tenths]
      if (left <= 0) return tenths / 10
    }
    return this.max
  }

  summary() {
    return { count: this.count, p50: this.quantile(0.5), p99: this.quantile(0.99), max: Number(this.max.toFixed(1)) }
  }
}

/** Processor time of the main thread in milliseconds: other load on the machine does not count. */
const threadTime = (() => {
  if (typeof process.threadCpuUsage === 'function') {
    return () => {
      const { user, system } = process.threadCpuUsage()
      return (user + system) / 1000
    }
  }
  const file = `/proc/self/task/${process.pid}/schedstat`
  return () => Number(readFileSync(file, 'latin1').split(' ')[0]) / 1e6
})()

/**
 * Measures turns of the event loop until it is stopped: by the clock, how much later than it should a timer
 * comes; by the processor, how much the thread worked between two of them.
 */
export class LoopMonitor {
  #all = { wall: new Histogram(), processor: new Histogram() }
  #window = { wall: new Histogram(), processor: new Histogram() }
  #over50 = { wall: 0, processor: 0 }
  #timer
  #last = performance.now()
  #worked = threadTime()

  constructor() {
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
  }

  #tick() {
    const [now, worked] = [performance.now(), threadTime()]
    this.#add('wall', Math.max(0, now - this.#last - TICK_MS))
    this.#add('processor', worked - this.#worked)
    ;[this.#last, this.#worked] = [now, worked]
  }

  #add(kind, ms) {
    this.#all[kind].add(ms)
    this.#window[kind].add(ms)
    if (ms > 50) this.#over50[kind] += 1
  }

  /** Since the last time this was asked for. */
  window() {
    const { wall, processor } = this.#window
    this.#window = { wall: new Histogram(), processor: new Histogram() }
    return { wallMs: wall.summary(), processorMs: processor.summary() }
  }

  stop() {
    clearInterval(this.#timer)
    const { wall, processor } = this.#all
    const summarize = (kind) => ({ ...this.#all[kind].summary(), over50: this.#over50[kind] })
    return { wallMs: summarize('wall', wall), processorMs: summarize('processor', processor) }
  }
}

/** The children of this process, zombies too. */
function children() {
  const of = (task) => {
    try {
      return readFileSync(`/proc/self/task/${task}/children`, 'latin1').split(' ').filter(Boolean).length
    } catch {
      return 0 // the thread has ended
    }
  }
  return readdirSync('/proc/self/task').reduce((sum, task) => sum + of(task), 0)
}

/** What this process uses now. */
export function usage() {
  const { rss, heapUsed, external } = process.memoryUsage()
  const mb = (bytes) => Number((bytes / 1e6).toFixed(1))
  return {
    rssMb: mb(rss),
    heapMb: mb(heapUsed),
    externalMb: mb(external),
    descriptors: readdirSync('/proc/self/fd').length,
    threads: readdirSync('/proc/self/task').length,
    children: children(),
  }
}
