import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type * as Otel from '@opentelemetry/api'
import { addCallScope } from '../core/call-channel.js'
import type { CallMessage, StepMessage, StepMessages } from '../core/call-message.js'
import { boolean, type Checks, must, optional, parseOptions } from '../core/options.js'
import { attributeText, identity, INPUT, known, outcome, OUTPUT, toolSpanName } from './attributes.js'
import { hasMethod, installedApi, type Instrumentation } from './installed-api.js'

/** Options of {@link instrumentTools}. */
export interface InstrumentToolsOptions {
  /** The tracer that makes the spans. @default the tracer `toolwright` of the registered provider */
  tracer?: Otel.Tracer | undefined
  /** Whether spans have the arguments of calls. @default false */
  recordInputs?: boolean | undefined
  /** Whether spans have results and the texts of errors. @default false */
  recordOutputs?: boolean | undefined
  /**
   * The module `@opentelemetry/api`, for a program that is bundled together with it.
   * @default the installed one
   */
  api?: Pick<typeof Otel, 'context' | 'trace'> | undefined
}

const checks = {
  tracer: optional(must<Otel.Tracer>(hasMethod('startSpan'), 'a tracer of OpenTelemetry')),
  recordInputs: optional(boolean, false),
  recordOutputs: optional(boolean, false),
  api: optional(
    must<Pick<typeof Otel, 'context' | 'trace'>>(
      (value) => hasMethod('getTracer')((value as Partial<typeof Otel> | null)?.trace),
      'the module @opentelemetry/api',
    ),
  ),
} satisfies Checks<InstrumentToolsOptions>

/**
 * Makes spans of all calls of tools in this process, of `createTools`, `defineTool`, contract sessions and Standard Agents.
 *
 * A call inside a tool's span of the AI SDK adds attributes to that span, and makes it an error if the call was refused or
 * failed in an envelope. Any other call gets a span `execute_tool NAME`. Their children are waits for permission, commands,
 * searches and rows of a journal.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid option, and if `@opentelemetry/api` is not installed.
 *
 * @example
 * ```ts
 * import { instrumentTools } from 'toolwright/otel'
 *
 * using instrumentation = instrumentTools()
 * ```
 */
export function instrumentTools(options: InstrumentToolsOptions = {}): Instrumentation {
  const { tracer, recordInputs, recordOutputs, api = installedApi('instrumentTools') } = parseOptions('instrumentTools', options, checks)
  const spans = new Spans(api, tracer ?? api.trace.getTracer('toolwright'), { recordInputs, recordOutputs })
  const listeners = spans.listeners()
  for (const [name, listener] of listeners) subscribe(name, listener)
  const removeScope = addCallScope((message, run) => spans.within(message, run))
  const dispose = (): void => {
    for (const [name, listener] of listeners) unsubscribe(name, listener)
    removeScope()
    spans.endAll()
  }
  return { dispose, [Symbol.dispose]: dispose }
}

/** `SpanStatusCode.ERROR` and `SpanKind.INTERNAL`. */
const ERROR = 2
const INTERNAL = 0

interface OpenSpan {
  span: Otel.Span
  context: Otel.Context
  /** Whether the span belongs to the AI SDK, which ends it. */
  isOwnedBySdk: boolean
}

/** The spans of running calls. */
class Spans {
  readonly #api: Pick<typeof Otel, 'context' | 'trace'>
  readonly #tracer: Otel.Tracer
  readonly #records: { recordInputs: boolean; recordOutputs: boolean }
  readonly #calls = new Map<CallMessage, OpenSpan>()
  readonly #steps = new Map<StepMessage, Otel.Span>()
  /** Spans of the AI SDK that already have a call. A further call within the tool gets a span of its own. */
  readonly #taken = new WeakSet<Otel.Span>()

  constructor(
    api: Pick<typeof Otel, 'context' | 'trace'>,
    tracer: Otel.Tracer,
    records: { recordInputs: boolean; recordOutputs: boolean },
  ) {
    this.#api = api
    this.#tracer = tracer
    this.#records = records
  }

  listeners(): [channel: string, listener: (message: unknown) => void][] {
    const steps = (['permission', 'command', 'journal', 'search'] as const).flatMap((step): [string, (message: unknown) => void][] => [
      [`tracing:toolwright:${step}:start`, (message) => this.#startStep(step, message as StepMessages[typeof step])],
      [`tracing:toolwright:${step}:asyncEnd`, (message) => this.#endStep(message as StepMessages[typeof step])],
    ])
    return [
      ['tracing:toolwright:call:start', (message) => this.#startCall(message as CallMessage)],
      ['tracing:toolwright:call:asyncEnd', (message) => this.#endCall(message as CallMessage)],
      ...steps,
    ]
  }

  /** Runs a call in the context of its span, so that the tool's own spans become its children. */
  within<T>(message: CallMessage, run: () => T): T {
    const open = this.#calls.get(message)
    return open === undefined ? run() : this.#api.context.with(open.context, run)
  }

  #startCall(call: CallMessage): void {
    const active = this.#api.context.active()
    const around = this.#api.trace.getSpan(active)
    if (around !== undefined && !this.#taken.has(around) && isToolSpan(around, call)) {
      this.#taken.add(around)
      this.#calls.set(call, { span: around, context: active, isOwnedBySdk: true })
      return
    }
    const attributes = known(identity(call.tool, call.toolCallId))
    const span = this.#tracer.startSpan(toolSpanName(call.tool), { kind: INTERNAL, attributes }, active)
    this.#taken.add(span)
    this.#calls.set(call, { span, context: this.#api.trace.setSpan(active, span), isOwnedBySdk: false })
  }

  #endCall(call: CallMessage): void {
    const open = this.#calls.get(call)
    if (open === undefined) return
    this.#calls.delete(call)
    const { span, isOwnedBySdk } = open
    const { recordInputs, recordOutputs } = this.#records
    span.setAttributes(known(outcome(call)))
    if (recordInputs) span.setAttributes(known({ [INPUT]: attributeText(call.input) }))
    if (call.code !== undefined) {
      const text = call.error instanceof Error ? call.error.message : attributeText(call.error)
      span.setStatus({ code: ERROR, message: recordOutputs ? (text ?? call.code) : call.code })
    } else if (recordOutputs) span.setAttributes(known({ [OUTPUT]: attributeText(call.result) }))
    if (isOwnedBySdk) return
    span.setAttributes(known({ 'gen_ai.tool.call.id': call.toolCallId }))
    span.end()
  }

  #startStep<STEP extends keyof StepMessages>(step: STEP, message: StepMessages[STEP]): void {
    const open = message.call && this.#calls.get(message.call)
    const { name, attributes } = describeStep(step, message)
    const context = open?.context ?? this.#api.context.active()
    this.#steps.set(message, this.#tracer.startSpan(name, { kind: INTERNAL, attributes }, context))
  }

  #endStep(message: StepMessage & { exitCode?: number | null; timedOut?: boolean }): void {
    const span = this.#steps.get(message)
    if (span === undefined) return
    this.#steps.delete(message)
    const { code, exitCode, timedOut } = message
    span.setAttributes(known({ 'process.exit.code': exitCode ?? undefined, 'toolwright.timed_out': timedOut, 'error.type': code }))
    const exit = timedOut === true ? 'timed out' : typeof exitCode === 'number' && exitCode !== 0 ? `exit ${exitCode}` : undefined
    const why = code ?? exit
    if (why !== undefined) span.setStatus({ code: ERROR, message: why })
    span.end()
  }

  /** Ends the open spans, because nothing else will. */
  endAll(): void {
    for (const { span, isOwnedBySdk } of this.#calls.values()) if (!isOwnedBySdk) span.end()
    for (const span of this.#steps.values()) span.end()
    this.#calls.clear()
    this.#steps.clear()
  }
}

function describeStep<STEP extends keyof StepMessages>(step: STEP, message: StepMessages[STEP]) {
  const { program, operation } = message as { program?: string; operation?: string }
  if (step === 'permission') return { name: 'wait for permission', attributes: {} }
  if (step === 'command') return { name: `command ${program}`, attributes: known({ 'process.executable.name': program }) }
  return { name: step === 'journal' ? 'journal' : `search ${operation}`, attributes: known({ [`toolwright.${step}`]: operation }) }
}

/**
 * Whether a span is the AI SDK's span of this call: `execute_tool` of `@ai-sdk/otel`, or `ai.toolCall` of AI SDK 6. The API
 * of OpenTelemetry cannot read a span's name and attributes, but spans of its SDK have them. A span of another SDK does not
 * match.
 */
function isToolSpan(span: Otel.Span, { toolCallId }: CallMessage): boolean {
  const { name, attributes = {} } = span as { name?: unknown; attributes?: Record<string, unknown> }
  if (attributes['gen_ai.operation.name'] !== 'execute_tool' && name !== 'ai.toolCall') return false
  const id = attributes['gen_ai.tool.call.id'] ?? attributes['ai.toolCall.id']
  return id === undefined || toolCallId === undefined || id === toolCallId
}
