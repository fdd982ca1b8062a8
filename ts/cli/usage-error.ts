/** The command line makes no sense; there is nothing to look for in a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError'

  /** What `parseArgs` threw, without the advice on positional arguments that it adds. */
  static of(error: unknown): UsageError {
    const message = error instanceof Error ? error.message : String(error)
    return new UsageError(message.replace(/\. (?:To specify|This command) .*$/su, ''))
  }
}
