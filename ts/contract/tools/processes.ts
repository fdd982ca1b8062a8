import {
  type ProcessReadArguments,
  type ProcessReport,
  type ProcessStartArguments,
  type ProcessStopArguments,
  type ProcessWriteArguments,
} from '../../core/processes/process-report.js'
import { processReportSchema, processTools as texts } from '../../core/processes/process-tools.js'
import type { ContractTool } from '../registry/contract-tool.js'
import type { ToolRuntime } from '../registry/tool-runtime.js'
import { executeDirectly } from './built-in-tools.js'

const startTool: ContractTool<ProcessStartArguments, ProcessReport> = {
  id: 'process_start',
  ...texts.process_start,
  outputSchema: processReportSchema,
  requires: { shell: [{ cmd: '*' }] },
  kind: 'execute',
  targets: ({ command, workdir }) => [{ kind: 'command', command, workdir }],
  execute: ({ command, workdir, terminal, wait_ms }, { processes }) => processes.start(command, { workdir, terminal, wait_ms }),
}

const readTool: ContractTool<ProcessReadArguments, ProcessReport> = {
  id: 'process_read',
  ...texts.process_read,
  outputSchema: processReportSchema,
  // The processes are the session's own.
  requires: {},
  kind: 'read',
  execute: (args, { processes }) => processes.read(args),
}

const writeTool: ContractTool<ProcessWriteArguments, ProcessReport> = {
  id: 'process_write',
  ...texts.process_write,
  outputSchema: processReportSchema,
  requires: { shell: [{ cmd: '*' }] },
  kind: 'execute',
  targets: ({ process_id, text = '', secret }) => [{ kind: 'input', process: process_id, text, secret: secret === true }],
  execute: (args, { processes }) => processes.write(args),
}

const stopTool: ContractTool<ProcessStopArguments, ProcessReport> = {
  id: 'process_stop',
  ...texts.process_stop,
  outputSchema: processReportSchema,
  requires: {},
  kind: 'execute',
  sideEffect: true,
  execute: (args, { processes }) => processes.stop(args),
}

const direct = <ARGS extends object>(tool: ContractTool<ARGS, ProcessReport>): ContractTool<ARGS, ProcessReport> =>
  Object.freeze({
    ...tool,
    execute: (args: ARGS, runtime: ToolRuntime) => executeDirectly(tool, args, runtime) as Promise<ProcessReport>,
  })

/**
 * The extensions `process_start`, `process_read`, `process_write` and `process_stop`: processes that go on after the call that started
 * them, until they are stopped or the session is closed. A session has them if its host passes them on:
 * `createSession({ workspace, manifest, tools: processTools })`. What `bash` may run, and who is asked, holds for them as well.
 */
export const processTools: readonly ContractTool[] = Object.freeze([
  direct(startTool),
  direct(readTool),
  direct(writeTool),
  direct(stopTool),
])
