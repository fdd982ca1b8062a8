import { invalid } from '../core/options.js'
import type { Journal } from './journal.js'
import type { JournalStore } from './journal-store.js'

/** Whether something can record calls, by what it can do. */
export function isStore(value: unknown): value is JournalStore {
  return typeof value === 'object' && value !== null && typeof (value as JournalStore).insertToolCall === 'function'
}

/** @throws {ToolError} INVALID_INPUT for what `openJournal` did not give. */
export function checkJournal(journal: unknown): void {
  if (!isStore(journal) || typeof (journal as Journal).tail !== 'function') {
    throw invalid('journal must be what openJournal gave.')
  }
}
