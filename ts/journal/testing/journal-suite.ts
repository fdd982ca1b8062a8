import { callable, checked, type Checks, invalid, optional, parseOptions, text } from '../../core/options.js'
import { type JournalSubject, type TestRunner } from './runner.js'
import { sharedStoreCases } from './shared-store.js'
import { singleJournalCases } from './single-journal.js'

const subjectChecks = {
  name: text,
  open: callable<JournalSubject['open']>(),
  openTwo: optional(callable<NonNullable<JournalSubject['openTwo']>>()),
} satisfies Checks<JournalSubject>

/**
 * Defines the tests that a store of calls must pass.
 *
 * @example
 * ```ts
 * import { describe, test } from 'vitest'
 *
 * journalSuite({ describe, test }, { name: 'my store', open: async () => openJournal(new MyStore()) })
 * ```
 * @param runner the functions of vitest, Jest, Bun or `node:test`.
 * @throws {ToolError} INVALID_INPUT
 */
export function journalSuite(runner: TestRunner, subject: JournalSubject): void {
  const { name, open, openTwo } = parseOptions('journalSuite', subject, subjectChecks)
  checked('journalSuite', () => {
    if (typeof runner?.describe !== 'function' || typeof runner.test !== 'function')
      throw invalid('The runner must have describe and test.')
  })
  runner.describe(`a journal store: ${name}`, () => singleJournalCases(runner, open))
  if (openTwo !== undefined) runner.describe(`two journals on one store: ${name}`, () => sharedStoreCases(runner, openTwo))
}
