import { setTimeout as pause } from 'node:timers/promises'
import { ToolError } from '../../core/errors.js'
import { invalid } from '../../core/options.js'
import type { WorkerOptions } from './stored-records.js'

/** The longest pause between two attempts. */
const LONGEST_MS = 50

/**
 * Tries to lock a thread until it is free. There is no notification: the previous worker may be a killed process.
 *
 * @throws {ToolError} THREAD_LOCKED when the time is over, and what `ask` throws.
 * @throws the signal's reason when it is aborted.
 */
export async function waitForWorker<T>(ask: () => Promise<T>, { waitMs = 30_000, signal }: WorkerOptions): Promise<T> {
  if (typeof waitMs !== 'number' || !(waitMs >= 0)) throw invalid('waitMs must be a number of at least 0.')
  const end = performance.now() + waitMs
  for (let round = 0; ; round += 1) {
    signal?.throwIfAborted()
    try {
      return await ask()
    } catch (error) {
      const left = end - performance.now()
      if (!ToolError.isInstance(error) || error.code !== 'THREAD_LOCKED' || left <= 0) throw error
      // Spreads the attempts of several processes.
      const ms = Math.min(2 ** Math.min(round, 6), LONGEST_MS) * (0.5 + Math.random() / 2)
      await pause(Math.min(ms, left), undefined, { signal }).catch(() => signal?.throwIfAborted())
    }
  }
}
