// What is asked of a soak, and whether it holds.

/** Those that are idle leave after 30 s. */
export const IDLE_SECONDS = 36
/** The least number of seconds that tells growth from what a runtime does in its first minutes. */
const LONG_SECONDS = 600
const MOST_MB_A_MINUTE = 1
/** The number of idle call handles that the addon keeps for later calls, each with a descriptor. */
const MORE_DESCRIPTORS = 16
const MOST_DELAY_MS = 50

/** Megabytes a minute over the last half, by least squares. */
export function slopeOfRss(samples) {
  const half = samples.slice(Math.floor(samples.length / 2))
  const mean = (of) => half.reduce((sum, one) => sum + of(one), 0) / half.length
  const [at, mb] = [mean((one) => one.at / 60), mean((one) => one.rssMb)]
  const spread = half.reduce((sum, one) => sum + (one.at / 60 - at) ** 2, 0)
  if (spread === 0) return 0
  return half.reduce((sum, one) => sum + (one.at / 60 - at) * (one.rssMb - mb), 0) / spread
}

/**
 * @param {object} result of one process
 * @param {{ idleSeconds: number }} settings
 * @returns {{ name: string, verdict: 'ok' | 'FAILED' | 'not judged', text: string }[]}
 */
export function judge(result, { idleSeconds }) {
  const { before, after, loop, samples, errorCount, errors, tookSeconds } = result
  if (after === undefined) return [{ name: 'end', verdict: 'FAILED', text: 'the process ended before its time' }]
  const calls = Object.values(result.calls).reduce((sum, { count }) => sum + count, 0)
  const slope = slopeOfRss(samples)
  const worst = Math.max(...samples.map(({ descriptors }) => descriptors), before.descriptors)
  const delay = loop.wallMs.p99 <= MOST_DELAY_MS
  const verdict = (holds, isJudged = true) => (isJudged ? (holds ? 'ok' : 'FAILED') : 'not judged')
  const ms = ({ p50, p99, max, over50 }) => `p50 ${p50}, p99 ${p99}, worst ${max} ms, ${over50} over 50`
  return [
    {
      name: 'errors',
      verdict: verdict(errorCount === 0),
      text: `${errorCount} of ${calls} calls${errorCount > 0 ? `; ${errors[0]}` : ''}`,
    },
    {
      name: 'descriptors',
      verdict: verdict(after.descriptors <= before.descriptors + MORE_DESCRIPTORS, idleSeconds >= IDLE_SECONDS),
      text: `${before.descriptors} before, ${worst} at most, ${after.descriptors} after ${idleSeconds} s`,
    },
    {
      name: 'memory',
      verdict: verdict(slope <= MOST_MB_A_MINUTE, tookSeconds >= LONG_SECONDS),
      text: `RSS ${before.rssMb} MB before, ${result.last.rssMb} at the end, ${after.rssMb} after; ${slope.toFixed(2)} MB a minute in the last half; heap ${after.heapMb} MB`,
    },
    {
      name: 'processes',
      verdict: verdict(after.children === 0, idleSeconds >= IDLE_SECONDS),
      text: `${after.children} after, threads ${after.threads}`,
    },
    {
      name: 'event loop',
      verdict: delay ? 'ok' : loop.processorMs.p99 <= MOST_DELAY_MS ? 'not judged' : 'FAILED',
      text: `by the clock ${ms(loop.wallMs)}${delay ? '' : ': the machine is busy'}`,
    },
    { name: 'its thread', verdict: verdict(loop.processorMs.p99 <= MOST_DELAY_MS), text: `by processor time ${ms(loop.processorMs)}` },
  ]
}
