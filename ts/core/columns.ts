/** Columns of a terminal: how wide a text is, cuts to a width, and lines that break between words. */

/** Characters that take two columns: those of East Asian scripts, full-width forms, and pictures. */
const WIDE =
  /[\u{1100}-\u{115f}\u{2e80}-\u{303e}\u{3041}-\u{a4cf}\u{a960}-\u{a97f}\u{ac00}-\u{d7a3}\u{f900}-\u{faff}\u{fe30}-\u{fe6f}\u{ff01}-\u{ff60}\u{ffe0}-\u{ffe6}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u
/** Characters that stand on the one before them. */
const ATTACHED = /^[\p{Mn}\p{Me}\u{fe0e}\u{fe0f}]$/u
const PLAIN = /^[ -~]*$/u
/** A line breaks below its last column only if so many columns are left there. */
const LEAST_COLUMNS = 24

function widthOf(character: string): number {
  if (ATTACHED.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}

/** The columns that a text takes, as terminals count them. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const character of text) width += widthOf(character)
  return width
}

/** At most `columns` columns of a text. If some are left out, the last is an ellipsis. */
export function cutToWidth(text: string, columns: number): string {
  // A text of this length can be longer than its characters, so only a plain one is known to fit.
  if (PLAIN.test(text) && text.length <= columns) return text
  let width = 0
  let fits = ''
  for (const character of text) {
    width += widthOf(character)
    if (width > columns) return `${fits}…`
    if (width < columns) fits += character
  }
  return text
}

/** Breaks lines that are wider than `columns` between words, and indents the rest of each as its last column. */
export function wrapped(text: string, columns: number): string {
  return text
    .split('\n')
    .map((line) => wrappedLine(line, columns))
    .join('\n')
}

function wrappedLine(line: string, columns: number): string {
  if (textWidth(line) <= columns) return line
  const [column = ''] = /^ *\S.* {2,}(?=\S)/u.exec(line.slice(0, Math.max(0, columns - LEAST_COLUMNS + 1))) ?? []
  const [start = ''] = /^ */u.exec(line) ?? []
  const indent = ' '.repeat(column === '' ? Math.min(start.length, 4) : textWidth(column))
  const lines = ['']
  // The white space in front of a word belongs to it, so columns stay where they are.
  for (const word of line.match(/ *[^ ]+/gu) ?? []) {
    const last = lines.length - 1
    const now = lines[last] ?? ''
    if (textWidth(now) + textWidth(word) <= columns || now.trim() === '') lines[last] = now + word
    else lines.push(indent + word.trimStart())
  }
  return lines.join('\n')
}
