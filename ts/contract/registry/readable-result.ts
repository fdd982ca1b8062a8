/** The data of a result as a text with lines, as a model reads it. Clients cut and store texts by their lines. */

type Fields = Readonly<Record<string, unknown>>

/** The text of a result. Programs get the data beside it. */
export function readableText(tool: string, data: unknown): string {
  if (typeof data === 'string') return data
  if (!isFields(data)) return jsonText(data)
  return readable[tool]?.(data) ?? (typeof data['head'] === 'string' ? data['head'] : jsonText(data))
}

const readable: Readonly<Record<string, (data: Fields) => string | undefined>> = {
  read: ({ content, head }) => (content === '' ? '(empty file)' : textOf(content ?? head)),
  bash: commandText,
  grep: ({ matches, head, tail }) => (Array.isArray(matches) ? matchLines(matches) : bothEnds(head, tail)),
  glob: ({ entries }) => (isTexts(entries) ? entries.join('\n') || '(no files)' : undefined),
}

/** What a command has printed, and how it ended unless by exit code 0. */
function commandText({
  stdout,
  stderr,
  head,
  tail,
  left_out_bytes: leftOut,
  exit_code: code,
  signal,
  timed_out: timedOut,
}: Fields): string {
  const parts =
    typeof head === 'string'
      ? [head, ...(typeof tail === 'string' ? [`[… ${String(leftOut)} bytes are left out …]`, tail] : [])]
      : [textOf(stdout) ?? '', ...(stderr === '' || typeof stderr !== 'string' ? [] : ['[stderr]', stderr])]
  const printed = parts.filter((part) => part !== '')
  const ended = endingOf(code, signal, timedOut)
  if (ended === undefined && printed.length === 0) return '(no output)'
  return [...printed, ...(ended === undefined ? [] : [ended])].map(withEnd).join('').replace(/\n$/u, '')
}

function endingOf(code: unknown, signal: unknown, timedOut: unknown): string | undefined {
  if (timedOut === true) return '[timed out]'
  if (typeof signal === 'string') return `[${signal}]`
  return typeof code === 'number' && code !== 0 ? `[exit code ${code}]` : undefined
}

const withEnd = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`)
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
const jsonText = (data: unknown): string => JSON.stringify(data, undefined, 2) ?? 'null'
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every((one) => typeof one === 'string')

/** A line for each match, as `rg -n` prints them. */
function matchLines(matches: readonly unknown[]): string | undefined {
  const lines = matches.map((match) =>
    isFields(match) ? `${String(match['path'])}:${String(match['line'])}:${String(match['text'])}` : undefined,
  )
  if (lines.includes(undefined)) return undefined
  return lines.join('\n') || '(no matches)'
}

function bothEnds(head: unknown, tail: unknown): string | undefined {
  if (typeof head !== 'string') return undefined
  return typeof tail === 'string' ? `${withEnd(head)}[…]\n${tail}` : head
}
