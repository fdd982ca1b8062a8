/** The command line makes no sense; there is nothing to look for in a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
