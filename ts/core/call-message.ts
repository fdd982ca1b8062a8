/** The messages about a call. Only this file decides their contents. */
import type { HostConnection, SandboxDenial } from '../../index.js'
import { ToolError } from './errors.js'

/** The part of the package that makes a call. */
export type CallDoor = 'toolkit' | 'contract' | 'standard-agents'

/** The output of a call, in numbers. */
export interface CallOutput {
  /** How long the call took, in milliseconds. */
  durationMs: number
  /** The bytes of the result: a text in UTF-8, anything else as JSON. */
  bytes?: number | undefined
  /** The exit code of the command; `null` if a signal ended it. */
  exitCode?: number | null | undefined
  /** Whether the result is incomplete. */
  truncated?: boolean | undefined
}

/** What the sandbox has noted of a command. */
export interface CommandFacts {
  connections?: readonly HostConnection[] | undefined
  denials?: readonly SandboxDenial[] | undefined
}

/** The facts about a call at its beginning. */
export interface CallFacts {
  door: CallDoor
  tool: string
  toolCallId?: string | undefined
  sideEffect?: boolean | undefined
  idempotent?: boolean | undefined
  input: unknown
}

/**
 * One call, on the channel `toolwright:call`. All events of the call publish the same object, with the facts known so far.
 * The arguments, the result and the error are getters and not fields, so a log of the message does not have them.
 */
export class CallMessage {
  readonly door: CallDoor
  /** The name of the tool. */
  readonly tool: string
  /** The id of the call, from the AI SDK or the host. */
  toolCallId: string | undefined
  /** The run of the call, once the call is being recorded. */
  runId: string | undefined
  /** The task within the run. */
  nodeId: string | undefined
  /** The number of the call within its task, from 1. */
  seq: number | undefined
  /** Whether the tool has a side effect. */
  sideEffect: boolean | undefined
  /** Whether a repeated call with the same input is safe. */
  idempotent: boolean | undefined
  /** The directory that the call is confined to. */
  rootDir: string | undefined
  /** The key that the tool got for this call. */
  callIdempotencyKey: string | undefined
  /** Whether the call did anything before it ended; known at the end. */
  acted: boolean | undefined
  /** Why the call failed: the code of the error or of the envelope, or the name of an error without a code. */
  code: string | undefined
  /** The files that patches in a command have changed, by the command's own report; `undefined` if there are none. */
  changedFiles: readonly string[] | undefined
  /** The hosts that a command asked for, with `sandbox.network`; `undefined` if there are none. */
  connections: readonly HostConnection[] | undefined
  /** What the sandbox refused a command, as far as that is certain; `undefined` if there is nothing. */
  denials: readonly SandboxDenial[] | undefined
  /** Duration and size of the result; known at the end. */
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

  /** The result of the tool; for a contract session, the data of the envelope. */
  get result(): unknown {
    return this.#result
  }

  /** The error; for a contract session, the text of the envelope. */
  get error(): unknown {
    return this.#error
  }

  /** Sets the result. Only the first outcome counts. */
  succeeded(result: unknown, truncated?: boolean): void {
    if (this.#isOver) return
    this.#result = result
    this.acted ??= true
    this.#end(result, truncated)
  }

  /** Sets the error. */
  failed(error: unknown, code = codeOf(error)): void {
    if (this.#isOver) return
    if (ToolError.isInstance(error)) this.noteCommand(error.details)
    this.#error = error
    this.code = code
    this.acted ??= false
    this.#end(ToolError.isInstance(error) ? error.details['output'] : undefined)
  }

  /** Takes what the sandbox has noted of the call's command. */
  noteCommand({ connections, denials }: CommandFacts): void {
    if (isFull(connections)) this.connections = connections
    if (isFull(denials)) this.denials = denials
  }

  /** Sets the exit code of the call's command. */
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

const isFull = (list: unknown): boolean => Array.isArray(list) && list.length > 0

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

/** A step of a call, on a channel of its own. */
export interface StepMessage {
  /** The call, if `toolwright:call` has subscribers and the step is part of a call. */
  readonly call: CallMessage | undefined
  /** How long the step took, in milliseconds; known at the end. */
  durationMs?: number
  /** Why the step failed, as in {@link CallMessage}. */
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

/** The messages of steps by the last part of their channel's name. */
export interface StepMessages {
  permission: PermissionMessage
  command: CommandMessage
  journal: JournalMessage
  search: SearchMessage
}

/** The longest name of a program in a message. */
const MAX_PROGRAM = 64

/** The name of a program without its directory, cut, because a model may have written a name of any length. */
export function programName(command: string): string {
  return (command.split('/').findLast((part) => part !== '') ?? command).slice(0, MAX_PROGRAM)
}
