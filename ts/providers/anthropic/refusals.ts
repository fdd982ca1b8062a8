/** Errors in the words that Anthropic documents for its tools. The model reads exactly the message. */
import type { ToolErrorCode } from '../../core/codes.js'
import { ToolError } from '../../core/errors.js'
import { string } from '../../core/options.js'
import { recordedChange } from '../../journal/calls/recorded-values.js'

/**
 * An error whose whole text is `message`.
 *
 * @param details `summary` replaces the message in records, where the message quotes text that a record must not hold.
 */
export function refused(
  code: ToolErrorCode,
  message: string,
  { summary = message, ...details }: Record<string, unknown> & { summary?: string } = {},
): ToolError {
  const error = new ToolError({ code, summary, message, details })
  // The AI SDK sends an error as a text. Models know these texts with the prefix of Anthropic's own runner.
  Object.defineProperty(error, 'toString', { value: () => `Error: ${message}`, enumerable: false })
  return error
}

/** An argument that its command cannot do without. */
export function needed(value: unknown, name: string, command: string): string {
  if (value === undefined || value === null) throw refused('INVALID_INPUT', `Parameter \`${name}\` is required for command: ${command}`)
  return string(value, name)
}

const NOTHING_DONE = 'No replacement was performed'
/** The most characters of a text that an error repeats. The model has the whole text. */
const QUOTED_LENGTH = 2000
/** The most line numbers that an error lists. */
const LISTED_LINES = 20

function quoted(text: string): string {
  return text.length <= QUOTED_LENGTH ? text : `${text.slice(0, QUOTED_LENGTH)}… (${text.length} characters)`
}

/** Line numbers for an error: `5, 6`, or the first of many and their number. */
export function listedLines(lines: readonly number[]): string {
  const more = lines.length - LISTED_LINES
  return `${lines.slice(0, LISTED_LINES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** The error of a text that is not in the file. */
export function notThere(path: string, old: string, near: string | null): ToolError {
  const message = `${NOTHING_DONE}, old_str \`${quoted(old)}\` did not appear verbatim in ${path}.${near === null ? '' : ` ${near}`}`
  return refused('TOOL_EDIT_NO_MATCH', message, { summary: NOTHING_DONE, path })
}

/** The error of a text that is in the file more than once; `lines` are numbered as the tool shows them. */
export function notUnique(path: string, old: string, lines: string): ToolError {
  const message = `${NOTHING_DONE}. Multiple occurrences of old_str \`${quoted(old)}\` in lines${lines}. Please ensure it is unique`
  return refused('TOOL_EDIT_AMBIGUOUS', message, { summary: NOTHING_DONE, path })
}

/** The error of a line number outside the file. */
export function noSuchLine(path: string, line: unknown, last: number): ToolError {
  const range = `It should be within the range of lines of the file: [0, ${last}]`
  return refused('INVALID_INPUT', `Invalid \`insert_line\` parameter: ${String(line)}. ${range}`, { path })
}

/** The record of a change: size and hash in place of the texts. */
export async function recordedTexts(command: string, path: unknown, texts: readonly unknown[], rest: object = {}): Promise<unknown> {
  const text = texts.map((one) => (typeof one === 'string' ? one : '')).join('\n')
  return { command, ...(await recordedChange(path, 'content', text)), ...rest }
}

/** Replaces errors that have one of these codes. */
export function reworded(codes: readonly ToolErrorCode[], make: (error: ToolError) => ToolError): (error: unknown) => never {
  return (error) => {
    throw ToolError.isInstance(error) && codes.includes(error.code) ? make(error) : error
  }
}
