/** The output of a session in the form that Codex models read. */
import { positive } from '../../core/options.js'
import type { ProcessReport } from '../../core/processes/process-report.js'

const DEFAULT_TOKENS = 10_000
/** Codex's estimate of a token. */
const BYTES_PER_TOKEN = 4
const MAX_TOKENS = 250_000

/** The bytes of a token budget. */
export function outputBytes(tokens: unknown): number {
  if (tokens === undefined || tokens === null) return DEFAULT_TOKENS * BYTES_PER_TOKEN
  return Math.max(16, Math.ceil(Math.min(positive()(tokens, 'max_output_tokens'), MAX_TOKENS)) * BYTES_PER_TOKEN)
}

/** The facts of one answer. */
export interface ExecAnswer {
  chunkId: string
  wallMs: number
  report: ProcessReport
  session: number
  /** The bytes printed since the last answer. */
  bytes: number
  output: string
}

export function sectionsOf({ chunkId, wallMs, report, session, bytes, output }: ExecAnswer): string {
  const { running, exit_code: code, signal, notes = [] } = report
  return [
    `Chunk ID: ${chunkId}`,
    `Wall time: ${(wallMs / 1000).toFixed(4)} seconds`,
    running
      ? `Process running with session ID ${session}`
      : `Process exited with code ${code ?? 'unknown'}${signal === undefined || signal === null ? '' : ` (${signal})`}`,
    `Original token count: ${Math.ceil(bytes / BYTES_PER_TOKEN)}`,
    ...facts(report).map((fact) => `Note: ${fact}`),
    ...notes.map((note) => `Note: ${note}`),
    'Output:',
    output,
  ].join('\n')
}

/** Facts from the kernel that Codex's own answers lack. */
function facts({ port, waits_for_input: waits }: ProcessReport): string[] {
  const listens = port === undefined ? [] : [`The process listens at port ${port}.`]
  return waits === true && port === undefined ? [...listens, 'The process waits for input.'] : listens
}

/** Cuts an output to the budget: its beginning and its end. */
export function cutOutput(first: string, last: string | undefined, bytes: number, budget: number): string {
  if (last === undefined) return first
  const head = Buffer.from(first)
  let half = Math.min(head.length, Math.floor(budget / 2))
  while (half > 0 && ((head[half] ?? 0) & 0xc0) === 0x80) half -= 1
  const omitted = Math.max(0, bytes - half - Buffer.byteLength(last))
  return `${head.toString('utf8', 0, half)}…${Math.ceil(omitted / BYTES_PER_TOKEN)} tokens truncated…${last}`
}
