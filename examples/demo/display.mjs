import { stripVTControlCharacters } from 'node:util'

const COLOURS = { bold: 1, dim: 2, red: 31, green: 32, cyan: 36 }
const MAX_LINE = 100

/** @typedef {keyof typeof COLOURS} Colour */

const coloured = process.stdout.isTTY === true && !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb'

/**
 * @param {Colour} colour
 * @param {string} text
 */
export const paint = (colour, text) => (coloured ? `\u001B[${COLOURS[colour]}m${text}\u001B[0m` : text)

/** @param {string} [line] */
export const say = (line = '') => void process.stdout.write(`${line}\n`)

/**
 * Text of a model, a file or a command, fit for a terminal: such text must not move the cursor,
 * change its colours or set its title.
 *
 * @param {string} text
 */
export const harmless = (text) =>
  // oxlint-disable-next-line no-control-regex
  stripVTControlCharacters(text).replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/g, '')

/** @param {string} text */
function oneLine(text) {
  const line = harmless(text).replaceAll(/\s+/g, ' ').trim()
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE - 1)}…` : line
}

/** @param {number} count @param {string} noun */
const plural = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`

/**
 * The arguments as a person would say them, by tool.
 *
 * @param {string} toolName
 * @param {any} input
 */
export function shortArguments(toolName, input) {
  const known = typeof input === 'object' && input !== null ? input : {}
  switch (toolName) {
    case 'bash':
      return oneLine([known.cmd, ...(known.args ?? [])].join(' '))
    case 'grep':
      return oneLine(`${known.pattern}${known.path === undefined ? '' : ` in ${known.path}`}`)
    case 'edit':
      return oneLine(`${known.path} (${changedLines(String(known.patch))})`)
    case 'write':
      return oneLine(`${known.path} (${plural(Buffer.byteLength(String(known.content)), 'byte')})`)
    case 'read':
      return oneLine(String(known.path))
    default:
      return oneLine(JSON.stringify(input) ?? '')
  }
}

/** @param {string} patch */
function changedLines(patch) {
  const count = (/** @type {RegExp} */ pattern) => patch.match(pattern)?.length ?? 0
  return `+${count(/^\+(?!\+\+ )/gm)} -${count(/^-(?!-- )/gm)}`
}

/**
 * The first line of a result, and how much more there is.
 *
 * @param {unknown} output
 */
export function shortOutput(output) {
  const text = typeof output === 'string' ? output : (JSON.stringify(output) ?? '')
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) return 'nothing'
  const first = oneLine(lines[0] ?? '')
  if (lines.length === 1) return first
  return `${first}  ${paint('dim', `(${plural(lines.length, 'line')}, ${plural(Buffer.byteLength(text), 'byte')})`)}`
}

/** @param {unknown} error */
export function shortError(error) {
  const { code, summary, message } = /** @type {{ code?: unknown, summary?: unknown, message?: unknown }} */ (
    typeof error === 'object' && error !== null ? error : { message: String(error) }
  )
  const text = oneLine(String(summary ?? message ?? error))
  return typeof code === 'string' ? `${code}  ${text}` : text
}

/** @param {number} ms */
export const duration = (ms) => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`

/** @param {string} diff */
export function paintDiff(diff) {
  const colour = (/** @type {string} */ line) => {
    if (/^(?:---|\+\+\+) /.test(line)) return paint('bold', line)
    if (line.startsWith('@@')) return paint('cyan', line)
    if (line.startsWith('+')) return paint('green', line)
    return line.startsWith('-') ? paint('red', line) : line
  }
  return harmless(diff).trimEnd().split('\n').map(colour).join('\n')
}
