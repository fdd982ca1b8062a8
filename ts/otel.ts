/** `toolwright/otel`: calls of tools as spans of OpenTelemetry, and journals as its metrics. */
export type { CallDoor, CallMessage, CallOutput } from './core/call-message.js'
export type { StoreLease, StoreLock, StoreWrite } from './journal/store-channels.js'
export type { Instrumentation } from './otel/installed-api.js'
export { instrumentJournals, type InstrumentJournalsOptions } from './otel/instrument-journals.js'
export { instrumentTools, type InstrumentToolsOptions } from './otel/instrument-tools.js'
