/**
 * What a terminal obeys instead of showing: control characters, what turns the direction of text
 * around, and halves of characters. A journal holds what a model and its tools wrote.
 */
const OBEYED = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

const short: Record<string, string> = { '\n': String.raw`\n`, '\r': String.raw`\r`, '\t': String.raw`\t` }

/** `text` in one line, with nothing in it that a terminal obeys. */
export function printable(text: string): string {
  return text.replaceAll(OBEYED, (character) => short[character] ?? escaped(character))
}

/** JSON in one line, with nothing in it that a terminal obeys; what it says is the same. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(OBEYED, escaped)
}

/** At most `length` characters, the last of them an ellipsis where some were left out. */
export function cut(text: string, length: number): string {
  // A character has two units at the most, so a long text need not be taken apart.
  const characters = Array.from(text.slice(0, 2 * length + 2))
  return characters.length <= length ? text : `${characters.slice(0, Math.max(0, length - 1)).join('')}…`
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
  return units.map((unit) => String.raw`\u${unit.toString(16).padStart(4, '0')}`).join('')
}
