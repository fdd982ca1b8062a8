/** `toolwright/contract/testing`: the tool contract as a suite of tests, and what it is made of. */
export {
  contractSuite,
  type ConformanceSubject,
  type ConformingSession,
  type TestRunner,
  type ToolSample,
} from './contract/testing/conformance-suite.js'
export { envelopeProblem } from './contract/testing/envelope-problem.js'
export { hostAccessDuring, hostAccessIsSeen } from './contract/testing/host-access.js'
export { invalidArguments, sampleOf } from './contract/testing/invalid-arguments.js'
export { recordingRuntime, type RecordingRuntimeOptions, type RuntimeUse } from './contract/testing/recording-runtime.js'
