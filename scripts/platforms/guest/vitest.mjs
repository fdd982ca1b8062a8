// In the place of vitest, of which a machine has no need: what the attacks import asks for `expect`, and does not call it.
export const expect = () => {
  throw new Error('nothing is expected here')
}
