import type { ToolCallRow } from '../../journal/journal-store.js'
import { targetOf } from '../../journal/call-target.js'
import { inputBytesOf, outputBytesOf } from './call-input.js'
import { durationOf } from './ending.js'
import { printableJson } from './printable.js'

/** A call as one line of JSON: its row, and what the timeline shows of it besides. */
export function jsonLine(call: ToolCallRow): string {
  const shown = {
    ...call,
    target: targetOf(call),
    durationMs: durationOf(call),
    inputBytes: inputBytesOf(call),
    outputBytes: outputBytesOf(call),
  }
  return `${printableJson(shown)}\n`
}
