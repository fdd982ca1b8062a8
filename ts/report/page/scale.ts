/** Steps of a ruler of time, in milliseconds. Longer ones are whole days. */
const TIMES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 864e5]

/** The shortest round time that is not shorter than `ms`. */
export const timeStep = (ms: number): number => TIMES.find((one) => one >= ms) ?? Math.ceil(ms / 864e5) * 864e5

/** The smallest of 1, 2, 5, 10, 20, 50, … that is not smaller than `amount`. */
export function amountStep(amount: number): number {
  const decade = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, amount))))
  return [1, 2, 5, 10].map((one) => one * decade).find((one) => one >= amount) as number
}

/** The multiples of `step` from `from` to `to`. */
export function multiples(step: number, from: number, to: number): number[] {
  const first = Math.ceil(from / step)
  return Array.from({ length: Math.max(0, Math.floor(to / step) - first + 1) }, (_, index) => (first + index) * step)
}
