/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

/** @returns {Counts} */
export const noCounts = () => ({ passed: 0, failed: 0, skipped: 0 })

export const addCounts = (a, b) => ({
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
  skipped: a.skipped + b.skipped,
})

export const formatCounts = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`

/** Reads a line written by formatCounts; undefined when the line is something else. */
export function parseCounts(line) {
  const match = /^(\d+) passed, (\d+) failed, (\d+) skipped$/.exec(line)
  if (match === null) return undefined
  return { passed: Number(match[1]), failed: Number(match[2]), skipped: Number(match[3]) }
}
