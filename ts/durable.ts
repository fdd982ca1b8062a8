/** `toolwright/durable`: agents in durable engines, whose tool calls are made once. */
export { callOnce, type OnceCall, type UnknownCall, type UnknownCallOptions } from './durable/call-once.js'
export { durable, type DurableOptions } from './durable/durable.js'
export { type DbosSteps, dbosSteps, type RestateSteps, restateSteps, type Step } from './durable/steps.js'
