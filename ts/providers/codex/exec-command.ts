/** Codex's pair: `exec_command` starts a command, and `write_stdin` types into it and polls it. */
import { withoutNulls } from '../../core/optional-arguments.js'
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { ToolError, withHint } from '../../core/errors.js'
import { invalid } from '../../core/options.js'
import { MAX_PROCESSES, ProcessTable } from '../../core/processes/process-table.js'
import type { ProcessReport } from '../../core/processes/process-report.js'
import { withUnsentLine } from '../../core/processes/process-texts.js'
import { type BuiltInContext, type CallableTool, defineBuiltIn } from '../../toolkit/define-tool.js'
import { startLine } from '../../toolkit/tools/start-line.js'
import { commandLine } from '../command/limits.js'
import { knownNames, refuseWithout } from '../argument-habits.js'
import type { ProviderSettings } from '../settings.js'
import { cutOutput, outputBytes, sectionsOf } from './exec-output.js'
import { createViewImage, type ViewImageInput } from './view-image.js'

/** Input of `exec_command`. */
export interface ExecCommandInput {
  cmd: string
  /** Relative to the root directory, or absolute within it. */
  workdir?: string | undefined
  /** A shell that takes `-c`. @default bash, or sh where there is none */
  shell?: string | undefined
  /** Has no effect: no shell reads startup files. */
  login?: boolean | undefined
  /** Whether the command gets a terminal. Without one it has no input. @default false */
  tty?: boolean | undefined
  /** How long to wait for output, in milliseconds, from 250 to 30,000. @default 10_000 */
  yield_time_ms?: number | undefined
  /** @default 10_000 */
  max_output_tokens?: number | undefined
  /** Any value but `use_default` is refused: nothing runs outside the sandbox. */
  sandbox_permissions?: string | undefined
  justification?: string | undefined
  prefix_rule?: string[] | undefined
}

/** Input of `write_stdin`. */
export interface WriteStdinInput {
  session_id: number
  /** The text to type. The empty text polls. @default '' */
  chars?: string | undefined
  /** How long to wait for output, in milliseconds, at most 30,000; for a poll 5,000 to 300,000. @default 250 */
  yield_time_ms?: number | undefined
  /** @default 10_000 */
  max_output_tokens?: number | undefined
}

/** The tools, under the names that Codex models know. */
export type CodexTools = {
  exec_command: CallableTool<ExecCommandInput, string>
  write_stdin: CallableTool<WriteStdinInput, string>
  /** With `documents` and `limits.image` alone. */
  view_image?: CallableTool<ViewImageInput, string>
}

const tokens = z.number().optional().describe('Output token budget. Defaults to 10000 tokens')

const execSchema = z.object({
  cmd: z.string().describe('Shell command to execute'),
  workdir: z.string().optional().describe('Working directory for the command. Defaults to the root directory'),
  shell: z.string().optional().describe('Shell binary to launch. Defaults to bash'),
  login: z.boolean().optional().describe('Whether to run the shell with login semantics. No startup file is read either way'),
  tty: z.boolean().optional().describe('True allocates a PTY for the command; false or omitted uses plain pipes, and there is no stdin'),
  yield_time_ms: z.number().optional().describe('Wait before yielding output. Defaults to 10000 ms; effective range is 250-30000 ms'),
  max_output_tokens: tokens,
  sandbox_permissions: z.string().optional().describe('Only use_default: commands run in the sandbox'),
  justification: z.string().optional(),
  prefix_rule: z.array(z.string()).optional(),
})

const stdinSchema = z.object({
  session_id: z.number().describe('Identifier of the running unified exec session'),
  chars: z.string().optional().describe('Bytes to write to stdin. Defaults to empty, which polls without writing'),
  yield_time_ms: z
    .number()
    .optional()
    .describe('Wait before yielding output. Non-empty writes default to 250 ms and cap at 30000 ms; empty polls wait 5000-300000 ms'),
  max_output_tokens: tokens,
})

const outputSchema = z.string().describe('How the command is, and its output')

/** The most bytes of one report as JSON. The answer is then cut to its tokens. */
const MAX_REPORT_JSON = 64_000_000

/** Makes the tools. Their sessions are their own. */
export function createCodexTools(settings: ProviderSettings): { tools: CodexTools; close: () => Promise<void> } {
  const { bound, documents } = settings
  const viewing = documents && (bound.limits?.image ?? 0) > 0 ? { view_image: createViewImage(settings) } : {}
  const table = new ProcessTable({ maxRunning: MAX_PROCESSES, maxReportBytes: MAX_REPORT_JSON })
  const shared = { outputSchema, sideEffect: true, kind: 'bash' } as const
  const exec_command = defineBuiltIn(
    {
      ...shared,
      name: 'exec_command',
      description: 'Runs a command in a PTY, returning output or a session ID for ongoing interaction.',
      schema: z.preprocess(knownNames('exec_command', 'cmd', execSchema), execSchema),
      execute: (input: ExecCommandInput, call): Promise<string> => inWords(() => execCommand(withoutNulls(input), call, bound, table)),
    },
    bound,
  )
  const write_stdin = defineBuiltIn(
    {
      ...shared,
      name: 'write_stdin',
      description: 'Writes characters to an existing unified exec session and returns recent output.',
      schema: z.preprocess(knownNames('write_stdin', 'session_id', stdinSchema), stdinSchema),
      execute: (input: WriteStdinInput, { signal }): Promise<string> => inWords(() => writeStdin(withoutNulls(input), signal, table)),
    },
    bound,
  )
  return { tools: { exec_command, write_stdin, ...viewing }, close: () => table.close() }
}

async function execCommand(
  input: ExecCommandInput,
  call: BuiltInContext,
  bound: ProviderSettings['bound'],
  table: ProcessTable,
): Promise<string> {
  const startedMs = performance.now()
  refuseWithout('exec_command', 'cmd', input, Object.keys(execSchema.shape))
  const { workdir, shell, tty = false, yield_time_ms, max_output_tokens, sandbox_permissions: permissions = 'use_default' } = input
  const command = commandLine(input.cmd, 'cmd')
  if (command.trim() === '') throw invalid('cmd must be a command.')
  if (permissions !== 'use_default')
    throw invalid(`sandbox_permissions cannot be ${permissions}: every command runs in the sandbox. Leave it out.`)
  for (const [name, value] of Object.entries({ workdir, shell })) {
    if (value !== undefined && (typeof value !== 'string' || value.includes('\0'))) throw invalid(`${name} must be a path.`)
  }
  const budget = outputBytes(max_output_tokens)
  const line = {
    command,
    workdir: workdir === '' ? undefined : workdir,
    shell: shell === '' || shell === undefined || /(?:^|\/)(?:ba)?sh$/u.test(shell) ? undefined : shell,
    input: tty === true ? ('terminal' as const) : ('empty' as const),
    isPlain: true,
  }
  const request = startLine(line, call, bound)
  const report = await table.start({ ...request, waitMs: within(yield_time_ms, 10_000, 250, 30_000), maxBytes: budget })
  return reportText(report, budget, startedMs, table)
}

async function writeStdin(input: WriteStdinInput, signal: AbortSignal | undefined, table: ProcessTable): Promise<string> {
  const startedMs = performance.now()
  refuseWithout('write_stdin', 'session_id', input, Object.keys(stdinSchema.shape))
  const { session_id: session, chars = '', yield_time_ms, max_output_tokens } = input
  if (!Number.isSafeInteger(session))
    throw invalid(`session_id must be a whole number${typeof session === 'string' ? ', without quotes' : ''}.`)
  if (typeof chars !== 'string') throw invalid('chars must be a string.')
  const process_id = `p${session}`
  const max_bytes = outputBytes(max_output_tokens)
  if (chars === '') {
    const wait_ms = within(yield_time_ms, 5_000, 5_000, 300_000)
    return reportText(await table.read({ process_id, max_bytes, wait_ms }, signal, 'end'), max_bytes, startedMs, table)
  }
  const wait_ms = within(yield_time_ms, 250, 250, 30_000)
  // Without a terminal, nothing else turns the key into a signal.
  const isInterrupt = chars === '\u0003' && !table.hasTerminal(process_id)
  const typed = isInterrupt ? { keys: ['ctrl+c' as const] } : { text: chars }
  const report = await table.write({ process_id, ...typed, wait_ms }, signal, 'end', max_bytes)
  return reportText(withUnsentLine({ text: chars }, report, 'write "\\n" to the session'), max_bytes, startedMs, table)
}

function within(value: unknown, fallback: number, min: number, max: number): number {
  if (value === undefined || value === null) return fallback
  if (typeof value !== 'number' || Number.isNaN(value)) throw invalid('yield_time_ms must be a number.')
  return Math.round(Math.min(max, Math.max(min, value)))
}

/** The text that a Codex model expects. No later answer has the omitted part of a long output. */
async function reportText(report: ProcessReport, budget: number, startedMs: number, table: ProcessTable): Promise<string> {
  const { process_id, from, next, unread_bytes: unread = 0, missing_bytes: missing = 0 } = report
  const total = missing + next - from + unread
  const last = unread === 0 ? undefined : await table.read({ process_id, from: -Math.floor(budget / 2), max_bytes: budget })
  return sectionsOf({
    chunkId: randomBytes(3).toString('hex'),
    wallMs: performance.now() - startedMs,
    report,
    session: Number(process_id.slice(1)),
    bytes: total,
    output: cutOutput(report.output, last?.output, total, budget),
  })
}

/** Failures with next moves that a model can make with these two tools. */
async function inWords(work: () => Promise<string>): Promise<string> {
  try {
    return await work()
  } catch (error) {
    if (!ToolError.isInstance(error)) throw error
    const id = error.details['processId']
    if (typeof id === 'string') throw ofSession(error, id.slice(1))
    const hint = hints[error.code]
    throw hint === undefined ? error : withHint(error, hint)
  }
}

/** A failure about a process in the words for its session. */
function ofSession({ code, summary, details, cause }: ToolError, session: string): ToolError {
  const { exitCode } = details
  const hasEnded = exitCode !== undefined
  const place: Readonly<Record<string, string>> = {
    PROCESS_NOT_FOUND: `There is no session ${session}`,
    PROCESS_ENDED: hasEnded
      ? `The command of session ${session} has ended${typeof exitCode === 'number' ? ` with exit code ${exitCode}` : ''}, and takes no input`
      : `The stdin of session ${session} is closed`,
    PROCESS_BUSY: `The command of session ${session} has not taken its earlier input yet`,
  }
  const hint = hasEnded ? 'Start the command again with exec_command if it is still needed, with tty: true if it reads input.' : hints[code]
  return new ToolError({ code, summary, details, cause, place: place[code] ?? summary, hint: hint ?? '' })
}

const WORKDIR = 'Check `workdir`, or leave it out to run in the root directory.'

const hints: Readonly<Partial<Record<ToolError['code'], string>>> = {
  TOOL_FILE_NOT_FOUND: WORKDIR,
  TOOL_NOT_A_DIRECTORY: WORKDIR,
  PROCESS_NOT_FOUND: 'Start the command again with exec_command.',
  PROCESS_ENDED: 'Run it again by exec_command with tty: true to type into it.',
  PROCESS_BUSY: 'Nothing was written. Poll with empty chars, and write again when it reads.',
  PROCESS_LIMIT: 'End a session first: write "\\u0003" to it, or let it finish.',
}
