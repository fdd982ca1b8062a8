import { once } from 'node:events'
import { shown, tell } from '../core/terminal.js'

/** Parts that the transports share: the longest message, the report of errors, and the end of the process. */

/** The longest message. It may hold a whole file for `write`, with every character escaped. */
export const MAX_MESSAGE_BYTES = 32_000_000

/** Reports an error to the host that a client must not see. */
export function report(error: Error): void {
  tell(shown`toolwright: ${error.message}\n`)
}

/** Settles when a signal asks this process to end. */
export async function interrupted(): Promise<void> {
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM'), once(process, 'SIGHUP')])
}
