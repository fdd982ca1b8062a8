/** The descriptions and schemas of the four process tools. */
import { processKeys } from './process-report.js'

/** The ids of the tools. */
export const processToolIds = ['process_start', 'process_read', 'process_write', 'process_stop'] as const

/** One of {@link processToolIds}. */
export type ProcessToolId = (typeof processToolIds)[number]

type Schema = Readonly<Record<string, unknown>>

/** The longest wait of a call, in milliseconds. */
export const MAX_WAIT_MS = 300_000
/** The default wait of `process_start`, in milliseconds. */
export const START_WAIT_MS = 2_000
/** The default wait of `process_write` for the answer of the process, in milliseconds. */
export const WRITE_WAIT_MS = 500
/** The most bytes of output in one report. */
export const REPORT_BYTES = 20_000
export const MAX_REPORT_BYTES = 100_000
/** A character has up to 4 bytes, and a report has room for some. */
export const MIN_REPORT_BYTES = 16
export const MAX_INPUT_LENGTH = 65_536
export const MAX_KEYS = 100
export const MAX_GRACE_MS = 30_000

const parameters = (properties: Record<string, Schema>, required: readonly string[]): Schema => ({
  type: 'object',
  properties,
  required: [...required],
  additionalProperties: false,
})

const aText: Schema = { type: 'string' }
const aCount: Schema = { type: 'integer', minimum: 0 }

const processId: Schema = { type: 'string', minLength: 1, maxLength: 100, description: 'The process_id that process_start returned' }
const waitMs = (description: string): Schema => ({ type: 'integer', minimum: 0, maximum: MAX_WAIT_MS, description })

/** The description and the schema of one tool. */
export interface ProcessToolText {
  readonly description: string
  readonly parameters: Schema
}

/** The schemas are the same at every door; a door may say more about where commands run. */
export const processTools: Readonly<Record<ProcessToolId, ProcessToolText>> = {
  process_start: {
    description:
      'Start a command line that keeps running after this call: a server, a watcher, a program that asks. It returns when the process ' +
      'listens at a TCP port, waits for input or has ended, at the latest after wait_ms, with the output so far. Commands of later calls ' +
      'reach a server at localhost and the port. Read further output with process_read, answer with process_write, and end the process with ' +
      'process_stop. For a command that only has to finish, use bash.',
    parameters: parameters(
      {
        command: {
          type: 'string',
          minLength: 1,
          maxLength: 65_536,
          pattern: '^\\s*[^\\u0000\\s][^\\u0000]*$',
          description: 'The command line',
        },
        workdir: {
          type: 'string',
          minLength: 1,
          maxLength: 4096,
          pattern: '^[^\\u0000]+$',
          description: 'The directory to run in. Default: where bash runs',
        },
        terminal: {
          type: 'boolean',
          description:
            'Whether it gets a terminal. Programs that ask for passwords, draw or edit lines need one. Without one, stdin is a pipe that stays open. Default false',
        },
        wait_ms: waitMs(`How long to wait. Default ${START_WAIT_MS}`),
        description: { type: 'string', maxLength: 1000, description: 'What it does, in a few words, for the user' },
      },
      ['command'],
    ),
  },
  process_read: {
    description:
      'Read output of a running or ended process: new output since its last report, or output from a position on. It returns when there is ' +
      'output, or when the process waits for input or has ended, at the latest after wait_ms. missing_bytes are no longer kept; unread_bytes come ' +
      'with the next call.',
    parameters: parameters(
      {
        process_id: processId,
        from: {
          type: 'integer',
          minimum: -Number.MAX_SAFE_INTEGER,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'A position in bytes; a negative one counts from the end. Default: where the last report ended',
        },
        stream: {
          type: 'string',
          enum: ['stdout', 'stderr'],
          description: 'stdout has both, unless a report names stderr_unread_bytes. Default stdout',
        },
        max_bytes: {
          type: 'integer',
          minimum: MIN_REPORT_BYTES,
          maximum: MAX_REPORT_BYTES,
          description: `The most output of this report. Default ${REPORT_BYTES}`,
        },
        wait_ms: waitMs('How long to wait for output. Default 0'),
      },
      ['process_id'],
    ),
  },
  process_write: {
    description:
      'Type into a process: text without changes (end a line with \\n), then keys. It returns the output that follows within wait_ms. Without a ' +
      'terminal, ctrl+c sends SIGINT, ctrl+d closes the input, and the only other keys are enter and tab.',
    parameters: parameters(
      {
        process_id: processId,
        text: { type: 'string', maxLength: MAX_INPUT_LENGTH, description: 'What to type' },
        keys: {
          type: 'array',
          maxItems: MAX_KEYS,
          items: { type: 'string', enum: [...processKeys] },
          description: 'Keys to press after the text',
        },
        close_input: { type: 'boolean', description: 'Whether to close the input afterwards. Default false' },
        secret: {
          type: 'boolean',
          description: 'Whether the text is a password or another secret, which is then not recorded. Default false',
        },
        wait_ms: waitMs(`How long to wait for output. Default ${WRITE_WAIT_MS}`),
      },
      ['process_id'],
    ),
  },
  process_stop: {
    description:
      'Stop a process and everything that it has started, and wait until all have ended. It returns the last output and how the process ended.',
    parameters: parameters(
      {
        process_id: processId,
        grace_ms: {
          type: 'integer',
          minimum: 0,
          maximum: MAX_GRACE_MS,
          description: 'How long it may take to end after a SIGTERM before it is killed. Default 0: it is killed at once',
        },
      },
      ['process_id'],
    ),
  },
}

/** The schema of a {@link ProcessReport}, the result of each tool. */
export const processReportSchema: Schema = parameters(
  {
    process_id: aText,
    running: { type: 'boolean' },
    output: aText,
    from: aCount,
    next: aCount,
    missing_bytes: aCount,
    unread_bytes: aCount,
    stderr_unread_bytes: aCount,
    port: { type: 'integer', minimum: 1, maximum: 65_535 },
    waits_for_input: { type: 'boolean' },
    exit_code: { type: ['integer', 'null'] },
    signal: { type: ['string', 'null'] },
    notes: { type: 'array', items: aText },
  },
  ['process_id', 'running', 'output', 'from', 'next'],
)
