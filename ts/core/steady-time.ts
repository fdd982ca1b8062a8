let last = 0
/** A moment at which the clock was believed, by the clock and by what only ever goes on. */
let believed = { clock: 0, steady: 0 }

/**
 * The time in milliseconds since 1970, never less than the one before: the order of a run's calls is told
 * by when they began. While the clock is behind (it was set back), time goes on from where it was, so that
 * a call takes as long as it takes.
 */
export function steadyNow(): number {
  const [clock, steady] = [Date.now(), performance.now()]
  if (clock >= last) {
    believed = { clock, steady }
    last = clock
  } else last = Math.max(last, Math.floor(believed.clock + steady - believed.steady))
  return last
}
