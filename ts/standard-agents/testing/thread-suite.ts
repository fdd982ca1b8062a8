import { callable, checked, type Checks, invalid, optional, parseOptions, text } from '../../core/options.js'
import type { TestRunner } from '../../journal/testing/runner.js'
import { attachmentCases } from './attachment-cases.js'
import { callCases } from './call-cases.js'
import { sharedThreadCases } from './shared-cases.js'
import { type ThreadSubject, withStore } from './subject.js'
import { threadCases } from './thread-cases.js'

const subjectChecks = {
  name: text,
  open: callable<ThreadSubject['open']>(),
  openTwo: optional(callable<NonNullable<ThreadSubject['openTwo']>>()),
} satisfies Checks<ThreadSubject>

/**
 * Defines the tests that a store of threads must pass.
 *
 * @example
 * ```ts
 * import { describe, test } from 'vitest'
 *
 * threadSuite({ describe, test }, { name: 'my store', open: async () => new MyStore() })
 * ```
 * @param runner the functions of vitest, Jest, Bun or `node:test`.
 * @throws {ToolError} INVALID_INPUT
 */
export function threadSuite(runner: TestRunner, subject: ThreadSubject): void {
  const { name, open, openTwo } = parseOptions('threadSuite', subject, subjectChecks)
  checked('threadSuite', () => {
    if (typeof runner?.describe !== 'function' || typeof runner.test !== 'function')
      throw invalid('The runner must have describe and test.')
  })
  runner.describe(`a thread store: ${name}`, () => {
    const test = withStore(runner, open)
    threadCases(test)
    callCases(test)
    attachmentCases(test)
  })
  if (openTwo !== undefined) runner.describe(`one thread store, opened twice: ${name}`, () => sharedThreadCases(runner, openTwo))
}
