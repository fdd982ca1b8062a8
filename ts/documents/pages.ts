import { invalid } from '../core/options.js'
import type { ReadPages } from './read-document.js'

/** Pages of a document, from 1. */
export interface Pages {
  from: number
  to: number
}

/** The pages of an argument: `3`, `2-5` or `2-`. @throws {ToolError} INVALID_INPUT */
export function parsePages(pages: string | undefined): Pages {
  if (pages === undefined) return { from: 1, to: Number.MAX_SAFE_INTEGER }
  const match = /^\s*(\d{1,6})\s*(?:(-)\s*(\d{1,6})?)?\s*$/u.exec(pages)
  const from = Number(match?.[1] ?? 0)
  const to = match?.[2] === undefined ? from : Number(match[3] ?? Number.MAX_SAFE_INTEGER)
  if (match === null || from < 1 || to < from) throw invalid(`pages must be a page or a range from 1, such as "3", "2-5" or "2-".`)
  return { from, to }
}

/** Pages as text, each under its number. */
export const pagesText = (pages: readonly string[], from: number): string =>
  pages.map((text, index) => `--- page ${from + index} ---\n${text.replace(/\n*$/u, '\n')}`).join('')

/** What is told of pages without a text; `undefined` if one has some. */
export const emptyPagesNote = (pages: readonly string[]): string | undefined =>
  pages.every((page) => page.trim() === '') ? '(These pages have no text: they may be pictures of it.)' : undefined

/** The text of the pages up to one, as far as the limit goes, and where it goes on. */
export function shownPages(
  { total, from, pages: all }: ReadPages,
  to: number,
  limitBytes: number,
  goOn?: string,
): { text: string; note: string | undefined } {
  if (from > total) return { text: '', note: `(There is no page ${from}: the document has ${total}.)` }
  const pages = [...all]
  // Headers take some of the limit.
  let text = pagesText(pages, from)
  while (pages.length > 1 && Buffer.byteLength(text) > limitBytes) {
    pages.pop()
    text = pagesText(pages, from)
  }
  const last = from + pages.length - 1
  const notes = [
    emptyPagesNote(pages),
    last < Math.min(to, total) ? `(Pages ${from} to ${last} of ${total}: ${goOn ?? `go on with pages "${last + 1}-"`}.)` : undefined,
    from === 1 && last === total ? undefined : `(The document has ${total} pages.)`,
  ]
  if (Buffer.byteLength(text) <= limitBytes) return { text, note: notes.filter((note) => note !== undefined).join('\n') || undefined }
  return {
    text: Buffer.from(text)
      .subarray(0, limitBytes)
      .toString('utf8')
      .replace(/\u{fffd}$/u, ''),
    note: `(Page ${from} is longer than ${limitBytes} bytes: this is its beginning.)`,
  }
}
