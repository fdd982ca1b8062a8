/** `toolwright/journal/testing`: what a store of calls must do, as a suite of tests. */
export { journalSuite } from './journal/testing/journal-suite.js'
export type { JournalSubject, TestRunner } from './journal/testing/runner.js'
