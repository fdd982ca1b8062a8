/**
 * Calls a function of the host. An error that it throws, or an `async` function rejects with, becomes a warning and changes
 * nothing. An unhandled rejection would end the process.
 *
 * @param what the name of the function in the warning
 */
export function tellListener(what: string, tell: () => unknown): void {
  const warn = (error: unknown): void => process.emitWarning(`toolwright: ${what} failed: ${String(error)}`)
  try {
    const result = tell()
    if (result instanceof Promise) result.catch(warn)
  } catch (error) {
    warn(error)
  }
}
