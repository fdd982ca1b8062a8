/** Names, and texts as PostgreSQL keeps them. */
import { storedText, threadError } from '../../standard-agents/store/store-checks.js'
import type { ToolError } from '../../core/errors.js'

/** PostgreSQL keeps no U+0000. This keeps the order of keys by their bytes. */
export const kept = (text: string): string =>
  text.includes('\0') || text.includes('\u0001') ? text.replaceAll('\u0001', '\u0001\u0002').replaceAll('\0', '\u0001\u0001') : text
/** The text before. A pair is found from the left, and so never in the middle of two. */
export const asGiven = (text: string): string =>
  text.includes('\u0001') ? text.replaceAll('\u0001\u0001', '\0').replaceAll('\u0001\u0002', '\u0001') : text

const refused = (what: string, why: string): ToolError =>
  threadError('THREAD_NAME_REFUSED', 'Name refused', `${what} ${why}`, 'Give a name of one line.')

const UNFIT = /[\p{Cc}\p{Cs}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u

export function checkName(what: string, text: string, max = 512): string {
  if (text === '') throw refused(what, 'is empty')
  if (Buffer.byteLength(text) > max) throw refused(what, 'is too long')
  if (UNFIT.test(text)) throw refused(what, 'holds a control character')
  return text
}

const essence = (mimeType: string): string => (mimeType.split(';')[0] ?? '').trim()

export function checkMimeType(mimeType: string): void {
  checkName('MIME type', mimeType, 255)
  if (!/^[\x20-\x7E]*$/u.test(mimeType) || !/^[\w!#$&\-^.+]+\/[\w!#$&\-^.+]+$/u.test(essence(mimeType)))
    throw refused('MIME type', 'is not `type/subtype`')
}

export function checkPath(given: string): string {
  const path = storedText(given, 'attachment path')
  if (!/^\/attachments\/[A-Za-z0-9\-_][A-Za-z0-9\-_.]{0,254}$/u.test(path))
    throw refused('attachment path', 'is not of the form `/attachments/NAME`')
  return path
}

const ENDINGS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/jpg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
}

export const endingOf = (mimeType: string, name: string): string =>
  ENDINGS[essence(mimeType).toLowerCase()] ?? /\.([a-z0-9]{1,10})$/u.exec(name.toLowerCase())?.[1] ?? 'bin'

const TEXTS = /^(?:text\/.*|.*\+(?:json|xml)|application\/(?:ecmascript|javascript|json|toml|x-yaml|xml|yaml))$/u
export const isText = (mimeType: string): boolean => TEXTS.test(essence(mimeType).toLowerCase())

/** The first text after all that begin with `prefix`, in the order of UTF-8. */
export function afterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0)
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last === 0x10_ff_ff) continue
    return String.fromCodePoint(...points, last === 0xd7_ff ? 0xe0_00 : last + 1)
  }
  return undefined
}
