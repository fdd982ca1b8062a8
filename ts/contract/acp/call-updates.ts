import { resolve } from 'node:path'
import type { ObservedCall } from '../call/call-observers.js'
import type { Envelope } from '../registry/envelope.js'
import { recordOf } from '../registry/json-schema.js'
import type { MakeMessages } from './client.js'
import { toAcpPlan } from './plan.js'
import { base64, exitOf, isRunning, outputBytesOf, textChunks } from './terminal.js'
import { commandOutput, hasTerminal, textContent, toAcpToolCall } from './tool-call.js'

/** The form of a client's updates. */
export interface UpdateStyle {
  version: 1 | 2
  meta: 'zed' | undefined
  workspace?: string | undefined
  outputBytes: number
}

/** The most output that waits for a slow client. Earlier output is dropped. */
const MAX_BUFFER = 256_000
/** The end of a running command's output that a client without terminals sees, in characters. */
const TAIL = 8_000

/** The updates of one call. Each method returns updates that are made when it is their turn. */
export class CallUpdates {
  readonly #call: ObservedCall
  readonly #id: string
  readonly #style: UpdateStyle
  readonly #workspace: string
  /** Whether the output goes to a terminal: the agent's in version 2, or one of `_meta`. */
  readonly #hasTerminal: boolean
  /** Whether the client shows terminals at all. */
  readonly #showsTerminals: boolean
  readonly #terminals: Map<string, string>
  #buffer = ''
  #sent = 0
  #sentBytes = 0
  #heardBytes = 0
  #tail = ''
  #isQueued = false
  #isOver = false

  /**
   * @param id the call's id, unique in the client's session.
   * @param terminals those of processes, by the ids of processes.
   */
  constructor(call: ObservedCall, id: string, style: UpdateStyle, terminals: Map<string, string>) {
    this.#terminals = terminals
    this.#call = call
    this.#id = id
    this.#style = style
    this.#workspace = resolve(style.workspace ?? call.workspace ?? '.')
    this.#showsTerminals = style.version === 2 || style.meta === 'zed'
    this.#hasTerminal = hasTerminal(call.tool) && this.#showsTerminals
  }

  begin(): MakeMessages {
    return () => this.#begin()
  }

  /** Takes output. @returns updates to queue; none if queued updates will include the output. */
  output(text: string): MakeMessages | undefined {
    if (this.#isOver || this.#call.tool !== 'bash') return undefined
    const room = this.#style.outputBytes - this.#sent - this.#buffer.length
    const taken = text.slice(0, Math.max(0, room))
    this.#heardBytes += Buffer.byteLength(text)
    this.#buffer = (this.#buffer + taken).slice(-MAX_BUFFER)
    this.#tail = (this.#tail + text).slice(-TAIL)
    if (this.#isQueued || (this.#hasTerminal && taken === '')) return undefined
    this.#isQueued = true
    return () => {
      this.#isQueued = false
      return this.#hasTerminal ? this.#terminalOutput() : [this.#update({ content: [textContent(this.#tail)] })]
    }
  }

  end(result: Envelope): MakeMessages {
    this.#isOver = true
    return () => this.#end(result)
  }

  *#begin(): Iterable<object> {
    const { command, workdir } = recordOf(this.#call.args)
    if (this.#hasTerminal && this.#style.version === 2) {
      const cwd = resolve(this.#workspace, typeof workdir === 'string' ? workdir : '.')
      yield { sessionUpdate: 'terminal_update', terminalId: this.#id, cwd, ...(typeof command === 'string' ? { command } : {}) }
    }
    yield { sessionUpdate: this.#style.version === 1 ? 'tool_call' : 'tool_call_update', ...this.#told() }
  }

  *#terminalOutput(): Iterable<object> {
    const text = this.#buffer
    this.#buffer = ''
    this.#sent += text.length
    this.#sentBytes += Buffer.byteLength(text)
    yield* this.#inTerminal(this.#id, text)
  }

  *#inTerminal(terminal: string, text: string): Iterable<object> {
    for (const chunk of textChunks(text)) {
      yield this.#style.version === 2
        ? { sessionUpdate: 'terminal_output_chunk', terminalId: terminal, data: base64(chunk) }
        : // The terminal has the id of the call that started the process.
          this.#update({ toolCallId: terminal, _meta: { terminal_output: { terminal_id: terminal, data: chunk } } })
    }
  }

  *#exit(terminal: string, result: Envelope): Iterable<object> {
    const { exitCode, signal } = exitOf(result)
    yield this.#style.version === 2
      ? { sessionUpdate: 'terminal_update', terminalId: terminal, exitStatus: { exitCode, signal } }
      : this.#update({ toolCallId: terminal, _meta: { terminal_exit: { terminal_id: terminal, exit_code: exitCode, signal } } })
  }

  /** What a call says of a process goes to the terminal of the process, and what is read once more does not. */
  *#ofProcess(result: Envelope): Iterable<object> {
    const { process_id: id, output } = recordOf(result.type === 'output' ? result.data : undefined)
    if (this.#call.tool === 'process_start' && typeof id === 'string') this.#terminals.set(id, this.#id)
    const terminal = typeof id === 'string' ? this.#terminals.get(id) : this.#id
    if (terminal === undefined) return
    if (typeof output === 'string' && recordOf(this.#call.args)['from'] === undefined) yield* this.#inTerminal(terminal, output)
    if (isRunning(result)) return
    yield* this.#exit(terminal, result)
    if (typeof id === 'string') this.#terminals.delete(id)
  }

  *#end(result: Envelope): Iterable<object> {
    if (this.#call.tool.startsWith('process_')) {
      if (this.#hasTerminal || (this.#showsTerminals && result.type === 'output')) yield* this.#ofProcess(result)
      const { _meta: _, ...told } = this.#told(result)
      return yield { sessionUpdate: 'tool_call_update', ...told }
    }
    if (this.#hasTerminal) {
      // If the output was not observed, or the command did not run, the envelope has all output.
      if (this.#sent === 0 && this.#buffer === '') this.#buffer = commandOutput(result).slice(0, this.#style.outputBytes)
      else if (result.type === 'error') this.#buffer += `\n${result.error_text}\n`
      const printed = Math.max(this.#heardBytes, outputBytesOf(result))
      yield* this.#terminalOutput()
      if (this.#sentBytes < printed) {
        this.#buffer = `\n[${printed - this.#sentBytes} of ${printed} bytes of the output are not shown here.]\n`
        yield* this.#terminalOutput()
      }
    }
    const { _meta: _, ...update } = this.#told(result)
    const { exitCode, signal } = exitOf(result)
    if (this.#hasTerminal && this.#style.version === 2) {
      yield { sessionUpdate: 'terminal_update', terminalId: this.#id, exitStatus: { exitCode, signal } }
    }
    const isZed = this.#hasTerminal && this.#style.version === 1
    const exit = isZed ? { _meta: { terminal_exit: { terminal_id: this.#id, exit_code: exitCode, signal } } } : {}
    yield { sessionUpdate: 'tool_call_update', ...update, ...exit }
    if (this.#call.tool === 'todo' && result.type === 'output') yield toAcpPlan(this.#call.args, { version: this.#style.version })
  }

  #told(result?: Envelope): Record<string, unknown> {
    const { tool, args, kind } = this.#call
    const { version, meta } = this.#style
    const terminalId = this.#hasTerminal ? this.#id : undefined
    const options = { version, meta, kind, workspace: this.#workspace, terminalId }
    return { ...toAcpToolCall({ id: this.#id, tool, args }, result, options) }
  }

  #update(more: object): object {
    return { sessionUpdate: 'tool_call_update', toolCallId: this.#id, ...more }
  }
}
