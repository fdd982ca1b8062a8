import { invalid } from '../core/options.js'

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
