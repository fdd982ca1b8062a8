/** The names and attributes of spans, the same for live spans and for spans of a journal. */
import type { CallMessage } from '../core/call-message.js'

/** The value of an attribute. */
export type AttributeValue = string | number | boolean
/** Attributes. `undefined` values are left out. */
export type Attributes = Record<string, AttributeValue | undefined>

/** The name of a tool's span, as in the conventions of OpenTelemetry for generative AI. */
export const toolSpanName = (tool: string): string => `execute_tool ${tool}`

/** The attributes that identify a call. */
export function identity(tool: string, toolCallId: string | null | undefined): Attributes {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': toolCallId ?? undefined,
  }
}

/** The arguments and the result of a call, recorded only on request. */
export const INPUT = 'gen_ai.tool.call.arguments'
export const OUTPUT = 'gen_ai.tool.call.result'

/** The facts about a call that has ended. */
export function outcome(call: CallMessage): Attributes {
  const { output } = call
  return {
    'toolwright.door': call.door,
    'toolwright.run_id': call.runId,
    'toolwright.node_id': call.nodeId,
    'toolwright.seq': call.seq,
    'toolwright.side_effect': call.sideEffect,
    'toolwright.idempotent': call.idempotent,
    'toolwright.call_idempotency_key': call.callIdempotencyKey,
    'toolwright.acted': call.acted,
    'toolwright.code': call.code ?? 'ok',
    'error.type': call.code,
    'process.exit.code': output?.exitCode ?? undefined,
    'toolwright.output.bytes': output?.bytes,
    'toolwright.output.truncated': output?.truncated,
  }
}

/** Drops unknown values. */
export function known(attributes: Attributes): Record<string, AttributeValue> {
  return Object.fromEntries(Object.entries(attributes).filter((entry): entry is [string, AttributeValue] => entry[1] !== undefined))
}

/** The most characters of an argument or a result on a span: backends refuse long attributes. */
const MAX_TEXT = 32_000

/** Turns a value into the text of an attribute. */
export function attributeText(value: unknown): string | undefined {
  try {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    if (text === undefined || text.length <= MAX_TEXT) return text
    return `${Buffer.from(text.slice(0, MAX_TEXT)).toString()} […]`
  } catch {
    return undefined
  }
}
