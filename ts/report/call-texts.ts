import type { CheckpointDiff } from '../journal/checkpoints/checkpoints.js'
import type { ToolCallRow } from '../journal/journal-store.js'
import { forkLines } from './fork-texts.js'
import type { CallTexts, Replacement, ReportText } from './report-data.js'

/** The longest texts that the page compares. The time grows with the square of the differences. */
const MAX_COMPARED = 100_000
/** Recognises a unified diff in the forms that models and git write. */
const DIFF = /^(?:diff --git |--- [^\n]*\n\+\+\+ |@@ |\*\*\* Begin Patch)/mu

/** The texts of a row for a reader, each cut to `limit` characters: its beginning and its end. */
export function callTexts(row: ToolCallRow, limit: number, changed?: CheckpointDiff): CallTexts {
  const input = parsed(row.inputJson)
  const output = parsed(row.outputJson)
  const error = parsed(row.errorJson)
  const shown = (value: unknown, json: string | null): ReportText | null => {
    try {
      if (value !== undefined) return textOf(value, limit)
    } catch {
      // What is nested too deeply can be parsed, and not written again.
    }
    return json === null ? null : cut(json, 'text', limit)
  }
  return {
    input: shown(input, row.inputJson),
    output: shown(forkLines(row.toolName, output) ?? (isEnvelope(output) ? output.data : output), row.outputJson),
    error: shown(messageOf(error), row.errorJson),
    notes: notesOf(output) ?? notesOf(error) ?? [],
    changed: changed === undefined || changed.text === '' ? null : cut(changed.text, 'diff', limit),
    diff: patchOf(input, limit),
    replacement: replacementOf(input, limit),
  }
}

/** How long a call of a contract session waited for permission; `null` if the row does not say. */
export function waitedMs(row: ToolCallRow): number | null {
  const { waited_ms } = record(parsed(row.outputJson ?? row.errorJson)) ?? {}
  return typeof waited_ms === 'number' ? waited_ms : null
}

function textOf(value: unknown, limit: number): ReportText | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'string') return cut(value, DIFF.test(value.slice(0, 4_000)) ? 'diff' : 'text', limit)
  const [only, ...others] = Object.values(record(value) ?? {})
  // `{ output: '…' }` reads better as the text itself.
  if (others.length === 0 && typeof only === 'string' && only.includes('\n')) return textOf(only, limit)
  const blocks = asBlocks(value)
  return blocks === undefined ? cut(JSON.stringify(value, undefined, 2), 'json', limit) : cut(blocks, 'text', limit)
}

/** An object with a text of several lines, such as the output of a command: each field by its name, without escapes. */
function asBlocks(value: unknown): string | undefined {
  const fields = Object.entries(record(value) ?? {})
  const isLong = (field: unknown): field is string => typeof field === 'string' && field.includes('\n')
  if (!fields.some(([, field]) => isLong(field)) || fields.some(([, field]) => typeof field === 'object' && field !== null))
    return undefined
  const long = fields.filter(([, field]) => isLong(field)).map(([name, field]) => `${name}:\n${String(field)}`)
  const short = fields.filter(([, field]) => !isLong(field)).map(([name, field]) => `${name}: ${field === '' ? '(empty)' : String(field)}`)
  return [...short, ...long].join('\n')
}

function cut(text: string, form: ReportText['form'], limit: number): ReportText {
  if (text.length <= limit) return { text, leftOut: 0, form }
  const half = Math.floor(limit / 2)
  const [head, tail] = [text.slice(0, half), text.slice(-half)].map((part) => Buffer.from(part).toString()) as [string, string]
  const leftOut = text.length - head.length - tail.length
  return { text: `${head}\n\n[… ${leftOut.toLocaleString('en')} characters are left out of this report …]\n\n${tail}`, leftOut, form }
}

/** The patch in the arguments. */
function patchOf(input: unknown, limit: number): ReportText | null {
  const { patch, diff } = record(input) ?? {}
  const text = [patch, diff].find((candidate) => typeof candidate === 'string')
  return text === undefined ? null : cut(text, 'diff', limit)
}

/** The old and the new text in the arguments. */
function replacementOf(input: unknown, limit: number): Replacement | null {
  const { path, old_string: before, new_string: after } = record(input) ?? {}
  if (typeof before !== 'string' || typeof after !== 'string') return null
  if (before.length + after.length > Math.min(limit, MAX_COMPARED)) return null
  return { path: typeof path === 'string' ? path : 'file', before, after }
}

/** The text of a recorded error; the error itself if it has no text. */
function messageOf(error: unknown): unknown {
  const { message } = record(error) ?? {}
  return typeof message === 'string' ? message : error
}

function notesOf(value: unknown): string[] | undefined {
  const { notes } = record(record(value)?.['metadata']) ?? {}
  return Array.isArray(notes) ? notes.filter((note) => typeof note === 'string') : undefined
}

function isEnvelope(value: unknown): value is { data: unknown } {
  const envelope = record(value)
  return envelope?.['type'] === 'output' && 'data' in envelope && record(envelope['metadata']) !== undefined
}

function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
}

function parsed(json: string | null): unknown {
  if (json === null) return undefined
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
