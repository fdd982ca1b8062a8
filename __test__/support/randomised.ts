/** The seed of this run, so that a failure can be repeated: `TOOLWRIGHT_SEED=… npm test`. */
export const seed = Number(process.env['TOOLWRIGHT_SEED'] ?? '1')

/** `count`, times what a soak asks for. */
export const runs = (count: number): number => Math.ceil(count * Number(process.env['TOOLWRIGHT_SOAK_FACTOR'] ?? '1'))

/** Numbers below a bound, the same for each `from`. */
export function randomNumbers(from: number): (below: number) => number {
  let state = from
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % below
  }
}
