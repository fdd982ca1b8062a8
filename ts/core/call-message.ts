/** What is published about a call: this file alone decides what a message holds. */
import { ToolError } from './errors.js'

/** Which part of the package makes a call. */
export type CallDoor = 'toolkit' | 'contract' | 'standard-agents'

/** What a call produced, in numbers. */
export interface CallOutput {
  /** How long the call took, in milliseconds. */
  durationMs: number
  /** The bytes of the result: of a text in UTF-8, of anything else as JSON. */
  bytes?: number | undefined
  /** The exit code of the command; `null` if a signal ended it. */
  exitCode?: number | null | undefined
  /** Whether the result is incomplete. */
  truncated?: boolean | undefined
}

/** What is known of a call when it begins. */
export interface CallFacts {
  door: CallDoor
  tool: string
  toolCallId?: string | undefined
  sideEffect?: boolean | undefined
  idempotent?: boolean | undefined
  input: unknown
}

/**
 * One call, on the channel `toolwright:call`. The same object is published with every event of the call, and has what is
 * known by then. The arguments, the result and the error are no fields: whoever logs the message logs none of them. Who
 * asks for them gets them by name.
 */
export class CallMessage {
  readonly door: CallDoor
  /** The name of the tool. */
  readonly tool: string
  /** The id that the AI SDK or the host gave to the call. */
  toolCallId: string | undefined
  /** The run that the call belongs to, once the call is being recorded. */
  runId: string | undefined
  /** The task within the run. */
  nodeId: string | undefined
  /** The number of the call within its task, from 1. */
  seq: number | undefined
  /** Whether the tool changes anything outside. */
  sideEffect: boolean | undefined
  /** Whether calling it again with the same input is safe. */
  idempotent: boolean | undefined
  /** The directory that the call is confined to. */
  rootDir: string | undefined
  /** The key that the tool got for this call. */
  callIdempotencyKey: string | undefined
  /** Whether the call got as far as doing something; known when it has ended. */
  acted: boolean | undefined
  /** Why it failed: the code of the error or of the envelope, or the name of an error without a code. */
  code: string | undefined
  /** The files that patches in its command have changed, as the command says; absent if there are none. */
  changedFiles: readonly string[] | undefined
  /** How long it took and how much it returned; known when it has ended. */
  output: CallOutput | undefined
  readonly #input: unknown
  readonly #startedMs = performance.now()
  #exitCode: number | null | undefined
  #isOver = false
  #result: unknown
  #error: unknown

  constructor({ door, tool, toolCallId, sideEffect, idempotent, input }: CallFacts) {
    this.door = door
    this.tool = tool
    this.toolCallId = toolCallId
    this.sideEffect = sideEffect
    this.idempotent = idempotent
    this.#input = input
  }

  /** The arguments. */
  get input(): unknown {
    return this.#input
  }

  /** What the tool returned; of a contract session, the data of the envelope. */
  get result(): unknown {
    return this.#result
  }

  /** What was thrown; of a contract session, the text of the envelope. */
  get error(): unknown {
    return this.#error
  }

  /** The call returned. The first word on its end counts. */
  succeeded(result: unknown, truncated?: boolean): void {
    if (this.#isOver) return
    this.#result = result
    this.acted ??= true
    this.#end(result, truncated)
  }

  /** The call failed. */
  failed(error: unknown, code = codeOf(error)): void {
    if (this.#isOver) return
    this.#error = error
    this.code = code
    this.acted ??= false
    this.#end(ToolError.isInstance(error) ? error.details['output'] : undefined)
  }

  /** A command of the call ended. */
  commandEnded(exitCode: number | null): void {
    this.#exitCode = exitCode
  }

  #end(result: unknown, truncated?: boolean): void {
    this.#isOver = true
    const output: CallOutput = { durationMs: performance.now() - this.#startedMs }
    const bytes = bytesOf(result)
    if (bytes !== undefined) output.bytes = bytes
    if (this.#exitCode !== undefined) output.exitCode = this.#exitCode
    if (truncated !== undefined) output.truncated = truncated
    this.output = output
  }
}

/** The code of an error, or else its name. */
export function codeOf(error: unknown): string {
  const { code, name } = (typeof error === 'object' && error !== null ? error : {}) as { code?: unknown; name?: unknown }
  const word = [code, name].find((one) => typeof one === 'string' && one !== '')
  return typeof word === 'string' ? word : 'Error'
}

function bytesOf(value: unknown): number | undefined {
  try {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return text === undefined ? undefined : Buffer.byteLength(text)
  } catch {
    return undefined
  }
}

/** A part of a call that takes time. */
export interface StepMessage {
  /** The call. Known if `toolwright:call` has subscribers, and if the step is part of a call. */
  readonly call: CallMessage | undefined
  /** How long the step took, in milliseconds; known when it has ended. */
  durationMs?: number
  /** Why it failed, as in {@link CallMessage}. */
  code?: string
}

/** On `toolwright:permission`: a call of a contract session waits for the user's answer. */
export type PermissionMessage = StepMessage

/** On `toolwright:command`: a process runs. */
export interface CommandMessage extends StepMessage {
  /** The name of the program, without its directory and arguments; of a command line, the shell's. */
  readonly program: string
  /** `null` if a signal ended it. */
  exitCode?: number | null
  timedOut?: boolean
}

/** On `toolwright:journal`: a row is written. */
export interface JournalMessage extends StepMessage {
  readonly operation: 'insert' | 'update'
}

/** On `toolwright:search`: files are searched. */
export interface SearchMessage extends StepMessage {
  readonly operation: 'grep' | 'glob' | 'overview'
}

/** The steps by their channel's last word. */
export interface StepMessages {
  permission: PermissionMessage
  command: CommandMessage
  journal: JournalMessage
  search: SearchMessage
}

/** The longest name of a program in a message. */
const MAX_PROGRAM = 64

/** The name of a program without its directory, which a model may have written at any length. */
export function programName(command: string): string {
  return (command.split('/').findLast((part) => part !== '') ?? command).slice(0, MAX_PROGRAM)
}
