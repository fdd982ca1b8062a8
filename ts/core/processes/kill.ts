/** Ends of processes that nobody waits for any longer. */
import type * as Addon from '../../../index.js'
import type { KeptProcess } from '../kept-process.js'

/** How long a start that is given up waits until nothing of it is left. */
const MAX_KILL_MS = 2_000

/** Kills what was started for nobody, and waits until nothing of it is left. */
export async function killed(process: Addon.KeptProcess, cancel: Addon.CancelHandle): Promise<void> {
  process.kill()
  await process.wait(MAX_KILL_MS, cancel)
}

/** Kills a process when a signal aborts. @returns a function that removes the listener. */
export function killWith(lifetime: AbortSignal, process: KeptProcess): () => void {
  const kill = (): void => void process.kill().catch(() => undefined)
  if (lifetime.aborted) kill()
  else lifetime.addEventListener('abort', kill, { once: true })
  return () => lifetime.removeEventListener('abort', kill)
}
