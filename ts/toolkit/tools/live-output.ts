/**
 * What a reader sees of an output that grows. Each result of the AI SDK replaces the one before, and the last comes
 * twice: so a result holds the end of a long output only, and results come as often as the output pays for. All
 * together they take half of what has been printed, and a window a second where that is more.
 */

/** How much of an output is shown before its end. */
const WINDOW = 4_000
/** The shortest time between two results: a reader gains nothing from more of them. */
const MIN_INTERVAL_MS = 100
/** The longest time, while there is something new. */
const MAX_INTERVAL_MS = 1_000

/** The output of one command so far, and when its next part is to be shown. */
export class LiveOutput {
  #text = ''
  #spent = 0
  #isNew = false
  #lastMs = Number.NEGATIVE_INFINITY

  add(text: string): void {
    this.#text += text
    this.#isNew ||= text !== ''
  }

  /** All of it. */
  get text(): string {
    return this.#text
  }

  /** In how many milliseconds the next part is due; `undefined` when there is nothing new. */
  dueIn(now: number): number | undefined {
    if (!this.#isNew) return undefined
    const paid = this.#spent === 0 || this.#spent + Math.min(this.#text.length, WINDOW) <= this.#text.length / 2
    return Math.max(0, this.#lastMs + (paid ? MIN_INTERVAL_MS : MAX_INTERVAL_MS) - now)
  }

  /** The part to show now: the whole output, or its end. */
  take(now: number): string {
    this.#isNew = false
    this.#lastMs = now
    const shown = endOf(this.#text)
    this.#spent += shown.length
    return shown
  }
}

function endOf(text: string): string {
  if (text.length <= WINDOW) return text
  let from = text.length - WINDOW
  // From the beginning of a line, where one begins soon; never in the middle of a character.
  const line = text.indexOf('\n', from - 1) + 1
  if (line > 0 && line < from + WINDOW / 2) from = line
  else if (isLowSurrogate(text.charCodeAt(from))) from += 1
  return `[${from} characters before this]\n${text.slice(from)}`
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff
