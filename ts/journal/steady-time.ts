let last = 0

/**
 * The time in milliseconds since 1970, never less than the one before: the order of a run's calls is told
 * by when they began, also where the clock is set back meanwhile.
 */
export function steadyNow(): number {
  last = Math.max(last, Date.now())
  return last
}
