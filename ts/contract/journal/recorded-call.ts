import { createHash } from 'node:crypto'
import type { Awaitable, ToolCallRow } from '../../journal/journal-store.js'
import { isLarge, largeValue, textDigest } from '../../core/large-values.js'
import { filesOfPatchNow } from '../../core/native.js'
import { parseObject } from '../../core/parse-rows.js'
import { asJson, largeInput, type RecordedInput, textWithoutQuotes } from '../../journal/calls/recorded-values.js'
import { type PatchedFile, patchedFile } from '../registry/tool-runtime.js'
import { type ContractCode, contractCodes, type Envelope, errorEnvelope } from '../registry/envelope.js'

/** Arguments that hold texts of files, by tool. A journal does not store these texts. */
const texts: Readonly<Record<string, readonly string[]>> = {
  write: ['content'],
  edit: ['old_string', 'new_string'],
  apply_patch: ['patch'],
}

/**
 * The arguments of a call: as its row shows them, and as a replay compares them. Values that are too large for a row are
 * replaced by their size and hash.
 */
export function recordedArguments(tool: string, args: unknown): Awaitable<RecordedInput> {
  const names = texts[tool] ?? []
  const isRecord = typeof args === 'object' && args !== null
  if (isLarge(args)) return isRecord ? largeArguments(tool, args, names) : largeValue(args).then(largeInput)
  if (isRecord && tool === 'process_write' && 'secret' in args && args.secret === true) return secretInput(args)
  const identity = asJson(args) ?? 'null'
  const hasTexts = isRecord && names.length > 0
  const visible = hasTexts ? { ...withoutTexts(args, names, shortDigest), ...patchedFiles(tool, args) } : undefined
  return { inputJson: visible === undefined ? identity : asJson(visible), identity }
}

/** Input that is a secret: only how long it is. A hash of a password would tell which one it is. */
function secretInput(args: object): RecordedInput {
  const { text, ...rest } = args as { text?: unknown }
  const inputJson = asJson({ ...rest, ...(typeof text === 'string' && { text_bytes: Buffer.byteLength(text) }) }) ?? 'null'
  return { inputJson, identity: inputJson }
}

type Digest = Awaited<ReturnType<typeof textDigest>>

async function largeArguments(tool: string, args: object, names: readonly string[]): Promise<RecordedInput> {
  const digests = new Map<string, Digest>()
  for (const [name, value] of Object.entries(args)) {
    if (names.includes(name) && typeof value === 'string') digests.set(value, await textDigest(value))
  }
  const visible = { ...withoutTexts(args, names, (text) => digests.get(text)), ...patchedFiles(tool, args) }
  if (isLarge(visible)) return largeInput(await largeValue(visible))
  const inputJson = asJson(visible) ?? 'null'
  return { inputJson, identity: inputJson }
}

/** Which files a patch changes. */
function patchedFiles(tool: string, { patch }: { patch?: unknown }): { files?: PatchedFile[] } {
  const files = tool === 'apply_patch' && typeof patch === 'string' ? filesOfPatchNow(patch, Number.MAX_SAFE_INTEGER) : undefined
  return files === undefined ? {} : { files: files.map(patchedFile) }
}

function withoutTexts(args: object, names: readonly string[], digestOf: (text: string) => Digest | undefined): object {
  const visible = Object.entries(args).flatMap(([name, value]: [string, unknown]): [string, unknown][] => {
    if (!names.includes(name) || typeof value !== 'string') return [[name, value]]
    const { bytes, sha256 } = digestOf(value) ?? {}
    return [
      [`${name}_bytes`, bytes],
      [`${name}_sha256`, sha256],
    ]
  })
  return Object.fromEntries(visible)
}

const shortDigest = (text: string): Digest => ({ bytes: Buffer.byteLength(text), sha256: createHash('sha256').update(text).digest('hex') })

/**
 * The position of a call among those of its session: how many had ended when it began, and its rank in completion order.
 * Clocks cannot order short calls.
 */
export type CallOrder = [beganAfter: number, ended: number]

/** The envelope and the position that a row stores; `undefined` where the row lacks them. */
export interface StoredEnvelope {
  envelope: Envelope | undefined
  order: CallOrder | undefined
}

/** What a row has besides the envelope. */
export interface RowFacts {
  order: CallOrder
  waitedMs?: number | undefined
  /** The name of the agent. */
  agent?: string | undefined
  /** Whether a hook of the host gave the call other arguments. */
  changedByHost?: boolean | undefined
}

/**
 * Serializes an envelope for a row: a success as it is, a failure under the names that all rows use for errors, so that
 * every reader of a journal understands it.
 */
export function serializeEnvelope(tool: string, envelope: Envelope, { order, waitedMs, agent, changedByHost }: RowFacts): string {
  const waited_ms = waitedMs === undefined ? undefined : Math.round(waitedMs)
  const changed_by_host = changedByHost === true ? true : undefined
  if (envelope.type === 'output') return JSON.stringify({ ...envelope, order, waited_ms, agent, changed_by_host })
  const { error_text, metadata } = envelope
  // As for a successful call, the texts of the file are not stored.
  const message = tool === 'edit' || tool === 'write' || tool === 'apply_patch' ? textWithoutQuotes(error_text) : error_text
  return JSON.stringify({ name: 'ToolFailure', message, code: metadata.code, metadata, order, waited_ms, agent, changed_by_host })
}

/** Reads what {@link serializeEnvelope} wrote. */
export function storedEnvelope({ status, outputJson, errorJson, isCut }: ToolCallRow): StoredEnvelope {
  const row = isCut ? undefined : parseObject(status === 'success' ? outputJson : errorJson)
  const { order: when, waited_ms: _waited, agent: _agent, changed_by_host: _changed, message, metadata, ...rest } = row ?? {}
  const order = isOrder(when) ? when : undefined
  if (!isMetadata(metadata)) return { envelope: interrupted(status), order }
  if (status !== 'success') return { envelope: { type: 'error', error_text: String(message), metadata }, order }
  return { envelope: { ...rest, metadata } as Envelope, order }
}

function isOrder(value: unknown): value is CallOrder {
  return Array.isArray(value) && value.length === 2 && value.every((one) => Number.isInteger(one))
}

/** The envelope of a call whose process died. The call is not repeated. */
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
