import { createHash } from 'node:crypto'
import type { Awaitable } from '../../journal/journal-store.js'
import { isLarge, largeValue, textDigest } from '../../core/large-values.js'
import { asJson, largeInput, type RecordedInput } from '../../core/recorded-json.js'

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
