/** A text file as a model sees it: lines that end in line feeds, without a byte order mark. What it changes keeps both. */

const MARK = '\uFEFF'

/** The text of a file before its change. */
export class ChangedText {
  /** As it is in the file. */
  readonly known: string
  /** As the model sees it. */
  readonly text: string
  readonly #hasMark: boolean
  /** What ends each line. */
  readonly #ends: readonly string[]

  constructor(known: string) {
    this.known = known
    this.#hasMark = known.startsWith(MARK)
    const plain = this.#hasMark ? known.slice(MARK.length) : known
    this.#ends = plain.match(/\r?\n/gu) ?? []
    this.text = plain.replaceAll('\r\n', '\n')
  }

  /** A text of the model, in a file with CRLF. A carriage return is a part of it in any other file. */
  given(text: string): string {
    return this.#ends.includes('\r\n') ? text.replaceAll('\r\n', '\n') : text
  }

  /**
   * The changed text as it is to be in the file. Each line keeps its end; a new one gets that of the line that it replaces, or
   * else that of the line above or below.
   */
  inForm(changed: string): string {
    const lines = changed.split('\n')
    const old = this.text.split('\n')
    const most = Math.min(lines.length, old.length)
    let above = 0
    while (above < most && lines[above] === old[above]) above += 1
    let below = 0
    while (below < most - above && lines.at(-1 - below) === old.at(-1 - below)) below += 1
    const ends = this.#ends
    const endOf = (line: number): string => {
      if (line < above) return ends[line] ?? near
      const fromEnd = lines.length - 1 - line
      if (fromEnd < below) return ends[ends.length - fromEnd] ?? near
      return (line < old.length - below ? ends[line] : undefined) ?? near
    }
    const near = ends[above - 1] ?? ends[above] ?? ends.at(-1) ?? '\n'
    const text = lines.map((line, index) => (index === lines.length - 1 ? line : `${line}${endOf(index)}`)).join('')
    return `${this.#hasMark && !text.startsWith(MARK) ? MARK : ''}${text}`
  }
}
