/**
 * A generator of numbers below `limit` that gives the same ones for the same seed (a 32-bit
 * xorshift).
 * @param {number} seed
 */
export function numbersFrom(seed) {
  let state = seed | 0 || 1
  const next = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
  return {
    /** At least 0, less than 1. */
    next,
    /** @param {number} limit exclusive */
    below: (limit) => Math.floor(next() * limit),
    /** @template T @param {readonly T[]} list @returns {T} */
    pick: (list) => list[Math.floor(next() * list.length)],
    /** A number whose logarithm is normally distributed, as the sizes of files are. */
    logNormal: (median, sigma) => {
      const normal = Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())
      return median * Math.exp(sigma * normal)
    },
  }
}
