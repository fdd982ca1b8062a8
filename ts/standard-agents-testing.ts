/** `toolwright/standard-agents/testing`: what a store of threads must do, as a suite of tests. */
export type { TestRunner } from './journal/testing/runner.js'
export type { ThreadSubject } from './standard-agents/testing/subject.js'
export { threadSuite } from './standard-agents/testing/thread-suite.js'
