/** What is in a document, below every door: notebooks as cells, the text of PDF documents, images of a size that models take. */
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { ToolError } from '../core/errors.js'
import type { KeptProcess } from '../core/kept-process.js'
import { printable } from '../core/printable.js'
import { convertibleOf, imageOf, isTaken, MAX_IMAGE_BYTES, MAX_PIXELS, type ModelImage, SCALED_PIXELS, sizeOfImage } from './images.js'
import { isPdf, kindOfName } from './kinds.js'
import {
  type Answers,
  type DocumentPackage,
  hasFailed,
  imageProgram,
  isImageAnswer,
  isPdfAnswer,
  parseAnswer,
  type PdfAnswer,
  pdfProgram,
} from './programs.js'
import { outputOf, ProgramFailed } from './run-program.js'

/** The largest document, in bytes. */
const MAX_DOCUMENT_BYTES = 64_000_000
/** How long the reading of one document may take, in milliseconds, and the memory for it in bytes. */
const READ_MS = 30_000
const MEMORY_BYTES = 2_000_000_000

/** A program that takes a document apart, as a host starts it: in the sandbox, without a network, and with so much memory. */
export interface DocumentProgram {
  command: readonly string[]
  /** The file that the program imports, whose package it has to be able to read. */
  module: string
  memoryBytes: number
  timeoutMs: number
}

/** What the reading of one file needs of its door. */
export interface DocumentHost {
  /** The path, as the model wrote it. */
  path: string
  /** The largest image that the model is shown, in bytes; 0 for none. */
  imageBytes: number
  signal: AbortSignal | undefined
  /** The bytes of the file. @throws {ToolError} for a file that is larger. */
  bytes(maxBytes: number): Promise<Buffer>
  /** The file as the cells of a notebook; `undefined` if it is none. */
  cells(): Promise<string | undefined>
  start(program: DocumentProgram, signal: AbortSignal): Promise<KeptProcess>
}

/** An image, and what it is. */
export interface ReadImage {
  text: string
  image: ModelImage
}

/** The text of a part of a PDF document. */
export interface ReadPages extends PdfAnswer {
  /** The first page, from 1. */
  from: number
}

/** What a model is told of cells. */
export const NOTEBOOK_NOTE =
  '(A notebook, as cells: edit patches these lines. Outputs are shown and cannot be changed; pictures are left out.)'

/** What is in a document. */
export type ReadDocument = { cells: string } | { pdf: ReadPages } | { image: ReadImage }

/** Which pages of a PDF document are wanted, and of how many characters in all. */
export interface WantedPages {
  from: number
  to: number
  maxChars: number
}

/**
 * Reads a document.
 *
 * @returns `undefined` for a file that is none, whatever its name is, and for an image where the model is shown none.
 * @throws {ToolError} TOOL_FILE_BINARY for one that cannot be shown; others of `read`.
 */
export async function readDocument(host: DocumentHost, pages: WantedPages): Promise<ReadDocument | undefined> {
  switch (kindOfName(host.path)) {
    case 'notebook': {
      const cells = await host.cells()
      return cells === undefined ? undefined : { cells }
    }
    case 'pdf': {
      const bytes = await host.bytes(MAX_DOCUMENT_BYTES)
      return isPdf(bytes) ? { pdf: await readPdf(host, bytes, pages) } : undefined
    }
    case 'image': {
      if (host.imageBytes === 0) return undefined
      const image = await readImage(host, true)
      return image === undefined ? undefined : { image }
    }
    case undefined:
      return undefined
  }
}

async function readPdf(host: DocumentHost, bytes: Buffer, { from, to, maxChars }: WantedPages): Promise<ReadPages> {
  const what = `PDF document (${bytes.length} bytes)`
  const module = moduleOf('unpdf')
  if (module === undefined) throw missing('unpdf', host, what)
  const { answer } = await run(host, what, { module, program: pdfProgram(module, from, to, maxChars), answers: isPdfAnswer }, bytes)
  if (hasFailed(answer)) throw unreadable(host, what, answer.failed)
  return { ...answer, from }
}

/**
 * Reads an image. No larger one than providers take ever leaves this function.
 *
 * @param scales whether a larger one is scaled, and another kind converted
 * @returns `undefined` if the file is no image.
 * @throws {ToolError} TOOL_FILE_BINARY for one that cannot be shown.
 */
export async function readImage(host: DocumentHost, scales: boolean): Promise<ReadImage | undefined> {
  const bytes = await host.bytes(scales ? MAX_DOCUMENT_BYTES : host.imageBytes)
  const image = imageOf(bytes)
  const any = image ?? (scales ? convertibleOf(bytes) : undefined)
  if (any === undefined) return undefined
  const size = sizeOfImage(bytes)
  const about = `${any.mediaType}${size === undefined ? '' : `, ${size.width} × ${size.height}`}, ${bytes.length} bytes`
  if (image !== undefined && isTaken(bytes, SCALED_PIXELS, host.imageBytes)) return { text: about, image }
  const module = scales ? moduleOf('sharp') : undefined
  // Larger than it needs to be, and providers take it all the same.
  if (module === undefined && image !== undefined && isTaken(bytes, MAX_PIXELS, host.imageBytes)) return { text: about, image }
  const what = `Image (${about})`
  if (module === undefined) throw scales ? missing('sharp', host, what) : notTaken(host, what)
  const most = Math.min(host.imageBytes, MAX_IMAGE_BYTES)
  const { answer, rest } = await run(
    host,
    what,
    { module, program: imageProgram(module, SCALED_PIXELS, most), answers: isImageAnswer },
    bytes,
  )
  if (hasFailed(answer)) throw unreadable(host, what, answer.failed)
  const scaled = imageOf(rest)
  const now = sizeOfImage(rest)
  // The program is in the sandbox with the document, so what it says of its result is not believed.
  if (scaled === undefined || now === undefined || !isTaken(rest, SCALED_PIXELS, most)) {
    throw unreadable(host, what, 'it could not be scaled')
  }
  return { text: `${about}; scaled to ${now.width} × ${now.height}`, image: scaled }
}

/** Runs a program with the bytes of a document. */
async function run<ANSWER>(
  host: DocumentHost,
  what: string,
  { module, program, answers }: { module: string; program: string; answers: Answers<ANSWER> },
  bytes: Buffer,
): Promise<ReturnType<typeof parseAnswer<ANSWER>>> {
  const limit = AbortSignal.timeout(READ_MS)
  const signal = host.signal === undefined ? limit : AbortSignal.any([limit, host.signal])
  const isBun = process.versions['bun'] !== undefined
  const command = [process.execPath, ...(isBun ? [] : ['--input-type=module']), '-e', program]
  try {
    const reader = await host.start({ command, module, memoryBytes: MEMORY_BYTES, timeoutMs: READ_MS }, signal)
    return parseAnswer(await outputOf(reader, bytes, signal), answers)
  } catch (error) {
    host.signal?.throwIfAborted()
    if (limit.aborted) throw unreadable(host, what, `it could not be read in ${READ_MS / 1_000} s`)
    if (error instanceof ProgramFailed || error instanceof SyntaxError) throw unreadable(host, what, error.message)
    throw error
  }
}

/** The address of the package that reads a kind of document; `undefined` if the host has not installed it. */
function moduleOf(name: DocumentPackage): string | undefined {
  try {
    return pathToFileURL(createRequire(import.meta.url).resolve(name)).href
  } catch {
    return undefined
  }
}

const LOOK = 'Look at it with a command that knows its format.'

const missing = (name: DocumentPackage, host: DocumentHost, what: string): ToolError =>
  binary(host, what, `${LOOK} The host can install the package \`${name}\`, with which read shows it.`)

const notTaken = (host: DocumentHost, what: string): ToolError =>
  binary(
    host,
    `${what} cannot be shown: it is cut off, or has more than ${MAX_PIXELS} pixels in width or height`,
    'Make a smaller one with a command, and read that. The host can set documents, with which read scales it.',
  )

const unreadable = (host: DocumentHost, what: string, why: string): ToolError =>
  binary(host, `${what} cannot be shown: ${printable(why)}`, LOOK)

function binary({ path }: DocumentHost, summary: string, hint: string): ToolError {
  return new ToolError({ code: 'TOOL_FILE_BINARY', summary: `${summary}: \`${path}\``, hint, details: { path } })
}
