/**
 * Tells a function of the host. What it throws is a warning and changes nothing, and so is what an `async` one rejects with:
 * nobody else would handle that, which ends a process.
 *
 * @param what who failed, as the warning says it
 */
export function tellListener(what: string, tell: () => unknown): void {
  const warn = (error: unknown): void => process.emitWarning(`toolwright: ${what} failed: ${String(error)}`)
  try {
    const told = tell()
    if (told instanceof Promise) told.catch(warn)
  } catch (error) {
    warn(error)
  }
}
