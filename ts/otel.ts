/** `toolwright/otel`: calls of tools as spans of OpenTelemetry. */
export type { CallDoor, CallMessage, CallOutput } from './core/call-message.js'
export { type Instrumentation, instrumentTools, type InstrumentToolsOptions } from './otel/instrument-tools.js'
