import { once } from 'node:events'

/** What the transports share: the longest message, where faults are told, and when the process is asked to end. */

/** A message may hold a whole file for `write`, with every character escaped. */
export const MAX_MESSAGE_BYTES = 32_000_000

/** Tells the host what a client must not be told. */
export function report(error: Error): void {
  process.stderr.write(`toolwright: ${error.message}\n`)
}

/** Settles when this process is asked to end. */
export async function interrupted(): Promise<void> {
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM'), once(process, 'SIGHUP')])
}
