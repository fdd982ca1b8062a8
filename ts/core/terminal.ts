/**
 * The one way to a terminal. What is printed is a {@link TerminalText}, and that is made of texts of this program, which stand in its
 * source, and of escaped texts of others. So a name cannot act on a terminal because a caller forgot to escape it.
 */
import { styleText } from 'node:util'
import { wrapped } from './columns.js'
import { indentedJson, printable, printableJson } from './printable.js'

const key = Symbol('made here')

/** A text that a terminal shows as it is. */
export class TerminalText {
  readonly #text: string

  constructor(text: string, made: typeof key) {
    if (made !== key) throw new TypeError('A text for a terminal is made by `shown`')
    this.#text = text
  }

  get length(): number {
    return this.#text.length
  }

  toString(): string {
    return this.#text
  }

  trimEnd(): TerminalText {
    return new TerminalText(this.#text.trimEnd(), key)
  }
}

/** A part of a text: what is not one already is escaped, onto one line. */
export type Part = TerminalText | string | number

const escaped = (part: Part): string => (part instanceof TerminalText ? part.toString() : printable(String(part)))

/** Makes a text of a template, which is shown as it stands in the source, and of the values in it, which are escaped. */
export function shown(template: TemplateStringsArray, ...parts: Part[]): TerminalText {
  return new TerminalText(template.map((text, index) => text + (index < parts.length ? escaped(parts[index] as Part) : '')).join(''), key)
}

export function joined(parts: Iterable<Part>, separator: TerminalText | '' = ''): TerminalText {
  return new TerminalText([...parts].map(escaped).join(String(separator)), key)
}

/** A text of many lines, such as a diff. Its ends of lines and tabs stay. */
export function shownLines(text: string): TerminalText {
  const line = (one: string): string => one.split('\t').map(printable).join('\t')
  return new TerminalText(text.split('\n').map(line).join('\n'), key)
}

/** A value as JSON, on one line or on several. */
export const shownJson = (value: unknown, { indented = false } = {}): TerminalText =>
  new TerminalText(indented ? indentedJson(value) : printableJson(value), key)

/** A text in a colour. */
export const painted = (look: Parameters<typeof styleText>[0], text: Part): TerminalText =>
  new TerminalText(styleText(look, escaped(text), { validateStream: false }), key)

/** What a terminal does before it shows the next text. */
export const controls = {
  /** Goes to the beginning of the line, and clears it. */
  clearLine: new TerminalText('\r\u{1b}[K', key),
  /** Goes up some lines, and clears all below. */
  clearAbove: (lines: number): TerminalText => new TerminalText(`\u{1b}[${Math.trunc(lines)}A\u{1b}[J`, key),
} as const

/** The columns of a terminal. A pipe has none, and a terminal that does not know its size neither. */
export const columnsOf = (stream: { isTTY?: boolean; columns?: number }): number | undefined =>
  stream.isTTY === true && stream.columns ? stream.columns : undefined

/** A text without colours whose lines break between words, where a terminal would break them inside one. */
export const fitted = (text: TerminalText, stream: { isTTY?: boolean; columns?: number }): TerminalText => {
  const columns = columnsOf(stream)
  return columns === undefined ? text : new TerminalText(wrapped(text.toString(), columns), key)
}

/** Writes to a stream. @returns whether it takes more at once. */
export const writeTo = (stream: Pick<NodeJS.WritableStream, 'write'>, text: TerminalText): boolean => stream.write(text.toString())

/** Writes to stdout. @returns whether it takes more at once. */
export const print = (text: TerminalText): boolean => writeTo(process.stdout, text)

/** Writes to stderr. */
export const tell = (text: TerminalText): void => void writeTo(process.stderr, text)

/** Writes a document to stdout, byte for byte, as a person has asked with `--output -`. */
export const printDocument = (text: string): boolean => process.stdout.write(text)
