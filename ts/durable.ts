/** `toolwright/durable`: agents in durable engines, whose tool calls are made once. */
export { callOnce, type OnceCall } from './durable/call-once.js'
export { durable, type DurableOptions } from './durable/durable.js'
export { settleCall, type SettledCall } from './journal/settle-call.js'
export { type DbosSteps, dbosSteps, type RestateSteps, restateSteps, type Step } from './durable/steps.js'
export {
  type OwnedStore,
  type SupervisedDbos,
  type SupervisedWorkflow,
  superviseDbos,
  type SuperviseDbosOptions,
  type Supervision,
} from './durable/supervise-dbos.js'
export type { UnknownCall, UnknownCallOptions } from './durable/unknown-calls.js'
