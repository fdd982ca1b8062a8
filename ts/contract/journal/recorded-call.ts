import { createHash } from 'node:crypto'
import type { Awaitable, ToolCallRow } from '../../journal/journal-store.js'
import { isLarge, largeValue, textDigest } from '../../core/large-values.js'
import { asJson, largeInput, type RecordedInput, textWithoutQuotes } from '../../journal/calls/recorded-values.js'
import { type ContractCode, contractCodes } from '../registry/codes.js'
import { type Envelope, errorEnvelope } from '../registry/envelope.js'

/** The texts of files, by tool: a journal is not where they are kept. */
const texts: Readonly<Record<string, readonly string[]>> = { write: ['content'], edit: ['old_string', 'new_string'] }

/**
 * Arguments of a call, as its row shows them and as a replay knows them again. What is too large for a row is there by
 * its size and hash.
 */
export function recordedArguments(tool: string, args: unknown): Awaitable<RecordedInput> {
  const names = texts[tool] ?? []
  const isRecord = typeof args === 'object' && args !== null
  if (!isLarge(args)) return { shown: asJson(isRecord ? withoutTexts(args, names) : args) ?? 'null', identity: asJson(args) ?? 'null' }
  return isRecord ? largeArguments(args, names) : largeValue(args).then(largeInput)
}

async function largeArguments(args: object, names: readonly string[]): Promise<RecordedInput> {
  const told: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(args)) {
    if (!names.includes(name) || typeof value !== 'string') told[name] = value
    else {
      const { bytes, sha256 } = await textDigest(value)
      Object.assign(told, { [`${name}_bytes`]: bytes, [`${name}_sha256`]: sha256 })
    }
  }
  if (isLarge(told)) return largeInput(await largeValue(told))
  const shown = asJson(told) ?? 'null'
  return { shown, identity: shown }
}

function withoutTexts(args: object, names: readonly string[]): object {
  if (names.length === 0) return args
  const told: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(args)) {
    if (!names.includes(name) || typeof value !== 'string') told[name] = value
    else {
      told[`${name}_bytes`] = Buffer.byteLength(value)
      told[`${name}_sha256`] = createHash('sha256').update(value).digest('hex')
    }
  }
  return told
}

/**
 * When a call ran among the calls of its session: how many had ended when it began, and the how-manieth it was
 * to end. Clocks do not tell short calls apart.
 */
export type CallOrder = [beganAfter: number, ended: number]

/** An envelope and when it came; what a row does not hold is `undefined`. */
export interface KeptEnvelope {
  envelope: Envelope | undefined
  order: CallOrder | undefined
}

/**
 * An envelope as a row keeps it: a success as it is, a failure with the names that rows give to errors, so
 * that whoever lists a journal reads it like any other.
 */
export function recordedEnvelope(tool: string, envelope: Envelope, order: CallOrder): string {
  if (envelope.type === 'output') return JSON.stringify({ ...envelope, order })
  const { error_text, metadata } = envelope
  // As of a call that succeeds, its texts are not kept.
  const message = tool === 'edit' ? textWithoutQuotes(error_text) : error_text
  return JSON.stringify({ name: 'ToolFailure', message, code: metadata.code, metadata, order })
}

/** What a row has kept. */
export function keptEnvelope({ status, outputJson, errorJson, isCut }: ToolCallRow): KeptEnvelope {
  const told = isCut ? undefined : parsed(status === 'success' ? outputJson : errorJson)
  const { order: when, message, metadata, ...rest } = told ?? {}
  const order = isOrder(when) ? when : undefined
  if (!isMetadata(metadata)) return { envelope: interrupted(status), order }
  if (status !== 'success') return { envelope: { type: 'error', error_text: String(message), metadata }, order }
  return { envelope: { ...rest, metadata } as Envelope, order }
}

function isOrder(value: unknown): value is CallOrder {
  return Array.isArray(value) && value.length === 2 && value.every((one) => Number.isInteger(one))
}

/** What is said of a call whose process died: it is never made again by itself. */
function interrupted(status: ToolCallRow['status']): Envelope | undefined {
  if (status !== 'started' && status !== 'unknown') return undefined
  const text =
    'The call was interrupted: its process ended before it was known how far it had come. Look at what it changed before calling again.'
  return errorEnvelope('interrupted', text, 0)
}

function isMetadata(value: unknown): value is Envelope['metadata'] {
  if (typeof value !== 'object' || value === null) return false
  const { duration_ms, code } = value as { duration_ms?: unknown; code?: unknown }
  return Number.isInteger(duration_ms) && typeof code === 'string' && Object.hasOwn(contractCodes, code as ContractCode)
}

function parsed(json: string | null): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json ?? '')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
