/**
 * Texts of others on a terminal. Names of files, arguments, results and messages come from models, programs and other hosts, and a
 * terminal obeys some characters instead of showing them.
 */

/**
 * Every character that is not shown as itself: control characters (U+0000 to U+001F, U+007F to U+009F), marks that change the
 * direction of text or join it, halves of characters, what no version of Unicode or only a private one assigns, separators of lines, and
 * what a font leaves out. The two selectors of emoji and text stay.
 */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|\p{Default_Ignorable_Code_Point}(?<!\u{fe0e}|\u{fe0f})/gu
/** Most texts. Looking characters up by their class takes longer. */
const PLAIN = /^[ -~]*$/u

const short: Record<string, string> = { '\n': String.raw`\n`, '\r': String.raw`\r`, '\t': String.raw`\t` }

/** `text` on one line, with escapes for every character that is not shown as itself. */
export function printable(text: string): string {
  if (PLAIN.test(text)) return text
  return text.replaceAll(UNPRINTABLE, (character) => short[character] ?? escaped(character))
}

/** JSON on one line, with the same escapes. Its value does not change. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(UNPRINTABLE, escaped)
}

/** The same on several lines: between its values, JSON has no other character than the ends of lines. */
export function indentedJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2)
    .split('\n')
    .map((line) => line.replaceAll(UNPRINTABLE, escaped))
    .join('\n')
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
  return units.map((unit) => String.raw`\u${unit.toString(16).padStart(4, '0')}`).join('')
}
