import { parsedInput } from '../../journal/call-target.js'
import type { ToolCallRow } from '../../journal/journal-store.js'

/**
 * The bytes a call was given. Of a content or a patch the journal keeps only the size, and that is
 * what was given; of anything else it is the length of the arguments.
 */
export function inputBytesOf({ inputJson }: ToolCallRow): number | null {
  if (inputJson === null) return null
  const { contentBytes, patchBytes } = parsedInput(inputJson) ?? {}
  const kept = contentBytes ?? patchBytes
  return typeof kept === 'number' ? kept : Buffer.byteLength(inputJson)
}

/** The bytes a call gave back, also those that were cut. */
export function outputBytesOf({ outputJson, outputBytes }: ToolCallRow): number | null {
  return outputBytes ?? (outputJson === null ? null : Buffer.byteLength(outputJson))
}
