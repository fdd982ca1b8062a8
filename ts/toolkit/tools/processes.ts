/** Long-running processes: the tools of `createTools({ processes: true })`. */
import type { FlexibleSchema } from 'ai'
import { traceStep } from '../../core/call-channel.js'
import { programName } from '../../core/call-message.js'
import { parseProcessArguments, type ProcessArguments } from '../../core/processes/process-arguments.js'
import { strictSchema, withoutAbsent } from '../../core/optional-arguments.js'
import type { ProcessReport } from '../../core/processes/process-report.js'
import { processReportSchema, type ProcessToolId, processTools } from '../../core/processes/process-tools.js'
import { withUnsentLine } from '../../core/processes/process-texts.js'
import { refusalText, refusedArguments } from '../../core/argument-words/argument-words.js'
import { processHabits } from '../../core/argument-words/process-habits.js'
import { formFindings } from '../../core/argument-words/schema-findings.js'
import { type BuiltInContext, type CallableTool, defineBuiltIn } from '../define-tool.js'
import type { BoundToolOptions } from '../settings.js'
import { guideWorkdir } from './model-errors.js'
import { shellFor, startLine } from './start-line.js'
import type { ToolProcesses } from './tool-processes.js'

/** The four process tools. */
export type ProcessTools = {
  process_start: CallableTool<ProcessArguments['process_start'], ProcessReport>
  process_read: CallableTool<ProcessArguments['process_read'], ProcessReport>
  process_write: CallableTool<ProcessArguments['process_write'], ProcessReport>
  process_stop: CallableTool<ProcessArguments['process_stop'], ProcessReport>
}

const words = { habits: processHabits }

/** Makes the process tools of a tool set. The processes end with their owner. */
export function createProcessTools(
  bound: BoundToolOptions,
  descriptions: Record<ProcessToolId, string>,
  processes: ToolProcesses,
): ProcessTools {
  const { table } = processes
  const define = <ID extends ProcessToolId>(
    name: ID,
    sideEffect: boolean,
    run: (args: ProcessArguments[ID], call: BuiltInContext) => Promise<ProcessReport>,
    recordedInput?: (args: ProcessArguments[ID]) => unknown,
  ) =>
    defineBuiltIn(
      {
        name,
        description: descriptions[name],
        schema: schemaOf(name),
        outputSchema: uncheckedSchema(processReportSchema),
        sideEffect,
        kind: 'bash',
        recordedInput,
        execute: async (args: ProcessArguments[ID], call) => noted(await run(parsed(name, args), call), processes),
      },
      bound,
    )
  return {
    process_start: define('process_start', true, ({ command, workdir, terminal = false, wait_ms: waitMs }, call) => {
      const line = { command, workdir, input: terminal ? ('terminal' as const) : ('pipe' as const) }
      return traceStep('command', { program: programName(shellFor(command, call).cmd) }, () =>
        table.start({ ...startLine(line, call, bound), waitMs }).catch(guideWorkdir(workdir, call)),
      )
    }),
    process_read: define('process_read', false, (args, { signal }) => table.read(args, signal)),
    process_write: define(
      'process_write',
      true,
      async (args, { signal }) => withUnsentLine(args, await table.write(args, signal)),
      withoutSecret,
    ),
    process_stop: define('process_stop', true, (args, { signal }) => table.stop(args, signal)),
  }
}

/** What a model reads of arguments of another form. */
function wrongForm(name: ProcessToolId, given: unknown): string | undefined {
  const { parameters } = processTools[name]
  const findings = formFindings(parameters, given)
  return findings.length === 0 ? undefined : refusalText(words, name, parameters, given, findings)
}

/** The arguments. Those of another form are refused in the words of all tools. @throws {ToolError} INVALID_INPUT */
function parsed<ID extends ProcessToolId>(name: ID, args: unknown): ProcessArguments[ID] {
  const { parameters } = processTools[name]
  const given = withoutAbsent(parameters, args)
  const wrong = wrongForm(name, given)
  if (wrong !== undefined) throw refusedArguments(wrong)
  return parseProcessArguments(name, given)
}

/** The report, followed by the ends of other processes. */
function noted(report: ProcessReport, processes: ToolProcesses): ProcessReport {
  const notes = [...(report.notes ?? []), ...processes.takeNotes()]
  return notes.length === 0 ? report : { ...report, notes }
}

/** The arguments for the record, without a secret text. */
function withoutSecret(args: ProcessArguments['process_write']): unknown {
  if (args.secret !== true) return args
  const { text, ...rest } = args
  return typeof text === 'string' ? { ...rest, text_bytes: Buffer.byteLength(text) } : rest
}

type SdkSchema = Record<symbol | string, unknown>

/** A schema of the SDK, which is made by its symbol. */
const sdkSchema = (jsonSchema: unknown, validate?: (value: unknown) => unknown): SdkSchema => ({
  [Symbol.for('vercel.ai.schema')]: true,
  _type: undefined,
  validate,
  jsonSchema,
})

const uncheckedSchema = (schema: unknown): FlexibleSchema<ProcessReport> => sdkSchema(schema) as unknown as FlexibleSchema<ProcessReport>

/** The schema of the arguments for the model, with the same check as a direct call. */
function schemaOf<ID extends ProcessToolId>(name: ID): FlexibleSchema<ProcessArguments[ID]> {
  const validate = (value: unknown): unknown => {
    try {
      const wrong = wrongForm(name, withoutAbsent(processTools[name].parameters, value))
      return wrong === undefined ? { success: true, value: parsed(name, value) } : { success: false, error: new TypeError(wrong) }
    } catch (error) {
      return { success: false, error }
    }
  }
  return sdkSchema(strictSchema(withoutPatterns(processTools[name].parameters)), validate) as unknown as FlexibleSchema<
    ProcessArguments[ID]
  >
}

/** The schema without regular expressions, few of which servers support that compile a schema to a grammar. Code checks the calls. */
function withoutPatterns(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return JSON.parse(JSON.stringify(schema, (key, value: unknown) => (key === 'pattern' ? undefined : value))) as Readonly<
    Record<string, unknown>
  >
}
