const CHUNK_BYTES = 1 << 20
const buffers = []

/**
 * Makes this process as large as an agent's host is, by memory that has been written to: what a fork
 * costs depends on that.
 * @param {number} megabytes resident size wanted; 0 leaves the process as it is
 * @returns {number} resident size, in MB
 */
export function growTo(megabytes) {
  const resident = () => process.memoryUsage.rss() / 1e6
  while (resident() < megabytes) buffers.push(Buffer.allocUnsafeSlow(CHUNK_BYTES).fill(buffers.length + 1))
  return Math.round(resident())
}
