/**
 * What is kept of a list of samples.
 * @typedef {{ count: number, median: number, min: number, p10: number, p90: number, max: number }} Summary
 */

/** @param {number[]} sorted ascending @param {number} share 0 to 1 */
function quantile(sorted, share) {
  const place = (sorted.length - 1) * share
  const below = Math.floor(place)
  const above = Math.ceil(place)
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below)
}

/** @param {number[]} samples @returns {Summary} */
export function summarise(samples) {
  if (samples.length === 0) throw new RangeError('nothing was measured')
  const sorted = [...samples].sort((a, b) => a - b)
  return {
    count: sorted.length,
    median: quantile(sorted, 0.5),
    min: sorted[0],
    p10: quantile(sorted, 0.1),
    p90: quantile(sorted, 0.9),
    max: sorted[sorted.length - 1],
  }
}
