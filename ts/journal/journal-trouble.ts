import { ToolError } from '../core/errors.js'
import type { Journal } from './journal.js'

const troubled = new WeakSet<Journal>()
const warned = new WeakMap<Journal, Set<string>>()

/** Remembers that a journal could not record a call that was made already. */
export function rememberTrouble(journal: Journal): void {
  troubled.add(journal)
}

/**
 * Looks whether a journal that has failed works again, before a call that is recorded only afterwards.
 * `undefined` when there is nothing to look for.
 */
export function whenTroubled(journal: Journal): Promise<void> | undefined {
  if (!troubled.has(journal) && !journal.closed) return undefined
  return recheck(journal)
}

async function recheck(journal: Journal): Promise<void> {
  try {
    await journal.flush()
    troubled.delete(journal)
  } catch (error) {
    if (journal.onFailure === 'fail') throw error
    warnOnce(journal, error, 'calls are made without a record')
  }
}

/** Says on stderr what went wrong with a journal, each kind of failure once. */
export function warnOnce(journal: Journal, error: unknown, what: string): void {
  const kind = ToolError.isInstance(error) ? error.code : String((error as { name?: unknown } | null)?.name)
  let kinds = warned.get(journal)
  if (kinds === undefined) warned.set(journal, (kinds = new Set()))
  if (kinds.has(kind)) return
  kinds.add(kind)
  console.warn(`[toolwright] ${what}:`, error)
}
