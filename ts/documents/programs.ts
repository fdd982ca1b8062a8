/**
 * Programs that take documents apart: a module for `node -e` or `bun -e`, which reads the bytes of the document from its input and prints
 * a line of JSON, and bytes after it. They run in the sandbox: whatever a document does to its reader stays there.
 */

/** The packages that the programs use. The host installs them; neither comes with this package. */
export type DocumentPackage = 'unpdf' | 'sharp'

/** Reads all input. What libraries print goes to stderr. */
const BEGIN = `
const { readFileSync, writeSync } = await import('node:fs')
console.log = console.warn = console.info = (...all) => console.error(...all)
const bytes = readFileSync(0)
const answer = (value, rest = Buffer.alloc(0)) => {
  const all = Buffer.concat([Buffer.from(JSON.stringify(value) + '\\n'), rest])
  for (let at = 0; at < all.length; ) {
    try { at += writeSync(1, all, at) } catch (error) { if (error.code !== 'EAGAIN') throw error }
  }
  process.exit(0)
}
`

/** The texts of pages. */
export interface PdfAnswer {
  total: number
  pages: string[]
}

/** A longer page is cut. */
const MAX_PAGE_CHARS = 4_000_000

/** A program that prints {@link PdfAnswer}: the pages from one to another, up to the one with which their text is too long. */
export const pdfProgram = (module: string, from: number, to: number, maxChars: number): string => `${BEGIN}
try {
  const { getDocumentProxy } = await import(${JSON.stringify(module)})
  const pdf = await getDocumentProxy(new Uint8Array(bytes), { isEvalSupported: false, verbosity: 0 })
  const pages = []
  let length = 0
  for (let number = ${from}; number <= Math.min(${to}, pdf.numPages); number += 1) {
    const { items } = await (await pdf.getPage(number)).getTextContent()
    const text = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\\n' : '') : '')).join('')
    pages.push(text.slice(0, ${MAX_PAGE_CHARS}))
    length += text.length
    if (length > ${maxChars}) break
  }
  answer({ total: pdf.numPages, pages })
} catch (error) {
  answer({ failed: String(error && error.message || error).slice(0, 300) })
}
`

/** A program that prints a line, and an image of at most so many pixels in width and height, and so many bytes. */
export const imageProgram = (module: string, maxPixels: number, maxBytes: number): string => `${BEGIN}
try {
  const { default: sharp } = await import(${JSON.stringify(module)})
  const forms = [[${maxPixels}, 85], [${maxPixels}, 60], [${Math.round(maxPixels / 2)}, 60], [${Math.round(maxPixels / 4)}, 50]]
  for (const [pixels, quality] of forms) {
    const image = sharp(bytes, { limitInputPixels: 268402689, failOn: 'error' }).rotate()
    const scaled = image.resize({ width: pixels, height: pixels, fit: 'inside', withoutEnlargement: true }).webp({ quality })
    const { data, info } = await scaled.toBuffer({ resolveWithObject: true })
    if (data.length <= ${maxBytes}) answer({ mediaType: 'image/webp', width: info.width, height: info.height }, data)
  }
  answer({ failed: 'it is too large in every size' })
} catch (error) {
  answer({ failed: String(error && error.message || error).slice(0, 300) })
}
`

/** What every program may answer instead. */
export interface FailedAnswer {
  failed: string
}

/** What a program is to answer, besides {@link FailedAnswer}. */
export type Answers<ANSWER> = (answer: Partial<Record<string, unknown>>) => answer is ANSWER & Partial<Record<string, unknown>>

export const isPdfAnswer: Answers<PdfAnswer> = (answer): answer is PdfAnswer & Partial<Record<string, unknown>> =>
  Number.isSafeInteger(answer['total']) && Array.isArray(answer['pages']) && answer['pages'].every((page) => typeof page === 'string')

/** The image itself comes after it, and is looked at. */
export const isImageAnswer: Answers<object> = (answer): answer is Partial<Record<string, unknown>> => answer['failed'] === undefined

/**
 * The answer of a program, and the bytes after it. The program may have become that of the document, so anything may come.
 *
 * @throws {SyntaxError} for anything else.
 */
export function parseAnswer<ANSWER>(output: Buffer, answers: Answers<ANSWER>): { answer: ANSWER | FailedAnswer; rest: Buffer } {
  const end = output.indexOf('\n')
  const answer: unknown = JSON.parse(output.toString('utf8', 0, end === -1 ? output.length : end))
  const rest = end === -1 ? Buffer.alloc(0) : output.subarray(end + 1)
  if (isObject(answer)) {
    if (typeof answer['failed'] === 'string') return { answer: { failed: answer['failed'] }, rest }
    if (answers(answer)) return { answer, rest }
  }
  throw new SyntaxError('its reader gave something else than an answer')
}

const isObject = (value: unknown): value is Partial<Record<string, unknown>> => typeof value === 'object' && value !== null

export const hasFailed = (answer: object): answer is FailedAnswer => 'failed' in answer
