/** Documents in `read`: notebooks as cells, the text of PDF documents, images of a size that models take. */
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { ToolError } from '../../core/errors.js'
import { grantedRoot } from '../../core/grants.js'
import { startProcess } from '../../core/kept-process.js'
import { call as callAddon } from '../../core/native.js'
import { invalid } from '../../core/options.js'
import { noVariables } from '../../core/network-guard/guard-network.js'
import { printable } from '../../core/printable.js'
import { isPdf, kindOfName, sizeOfImage } from '../../documents/kinds.js'
import { pagesText, parsePages } from '../../documents/pages.js'
import {
  type DocumentPackage,
  hasFailed,
  type ImageAnswer,
  imageProgram,
  parseAnswer,
  type PdfAnswer,
  pdfProgram,
} from '../../documents/programs.js'
import { outputOf, PROGRAM_IO, ProgramFailed } from '../../documents/run-program.js'
import type { BoundToolOptions } from '../settings.js'
import { type CallPlan, commandOf, commandSettings, confined } from './call-plan.js'
import { imageOf, type ReadImage } from './model-output.js'

/** The largest document, in bytes. */
const MAX_DOCUMENT_BYTES = 64_000_000
/** The largest width and height of an image, in pixels. Providers scale larger ones down, and refuse the largest. */
const MAX_PIXELS = 1_568
/** How long the reading of one document may take, in milliseconds, and the memory for it in bytes. */
const READ_MS = 30_000
const MEMORY_BYTES = 2_000_000_000

export const isNotebook = (path: unknown): boolean => typeof path === 'string' && kindOfName(path) === 'notebook'

/** @throws {ToolError} INVALID_INPUT for cells as `read` shows them in place of a notebook. */
export function checkNotebook(content: unknown): void {
  if (typeof content !== 'string' || !/^\s*# %%/u.test(content)) return
  throw invalid('content is cells as read shows them, and no notebook: change cells with edit, or give the JSON of the whole notebook.')
}

/** What a document is for a model. */
export interface DocumentText {
  text: string
  note?: string | undefined
  image?: ReadImage | undefined
  /** Whether `pages` chooses parts of it. */
  hasPages?: boolean | undefined
}

/**
 * Reads a document.
 *
 * @returns `undefined` for a file that is none, whatever its name is.
 * @throws {ToolError} TOOL_FILE_BINARY for one that cannot be shown; others of `read`.
 */
export async function readDocument(
  plan: CallPlan,
  target: string,
  pages: string | undefined,
  bound: BoundToolOptions,
): Promise<DocumentText | undefined> {
  const range = parsePages(pages)
  switch (kindOfName(target)) {
    case 'notebook':
      return readNotebook(plan, target)
    case 'pdf': {
      const bytes = await bytesOf(plan, target)
      return isPdf(bytes) ? readPdf(plan, target, bytes, range, bound) : undefined
    }
    case 'image': {
      if (plan.imageBytes === 0) return undefined
      const image = imageOf(await bytesOf(plan, target))
      return image === undefined ? undefined : readImage(plan, target, image, bound)
    }
    case undefined:
      return undefined
  }
}

async function readNotebook(plan: CallPlan, target: string): Promise<DocumentText | undefined> {
  const { text } = await callAddon(plan.limits(`read ${target}`), (addon, cancel) =>
    addon.readNotebook(grantedRoot(addon, plan), target, plan.maxOutputBytes, cancel, plan.seen(addon)),
  )
  const note = '(A notebook, as cells: edit patches these lines. Outputs are shown and cannot be changed; pictures are left out.)'
  return text === undefined ? undefined : { text, note }
}

const bytesOf = async (plan: CallPlan, target: string): Promise<Buffer> => {
  const bytes = await callAddon(plan.limits(`read ${target}`), (addon, cancel) =>
    addon.read(grantedRoot(addon, plan), target, MAX_DOCUMENT_BYTES, false, cancel),
  )
  return Buffer.from(bytes as Buffer)
}

async function readPdf(
  plan: CallPlan,
  target: string,
  bytes: Buffer,
  { from, to }: { from: number; to: number },
  bound: BoundToolOptions,
): Promise<DocumentText> {
  const what = `PDF document (${bytes.length} bytes)`
  const program = pdfProgram(moduleOf('unpdf', target, what), from, to, plan.maxOutputBytes)
  const { answer } = await run<PdfAnswer>(plan, target, what, program, bytes, bound)
  if (hasFailed(answer)) throw unreadable(target, what, answer.failed)
  const { total, pages } = answer
  if (from > total) return { text: '', hasPages: true, note: `(There is no page ${from}: the document has ${total}.)` }
  // Headers take some of the limit.
  let text = pagesText(pages, from)
  while (pages.length > 1 && Buffer.byteLength(text) > plan.maxOutputBytes) {
    pages.pop()
    text = pagesText(pages, from)
  }
  const last = from + pages.length - 1
  const isEmpty = pages.every((page) => page.trim() === '')
  const notes = [
    isEmpty ? '(These pages have no text: they may be pictures of it.)' : undefined,
    last < Math.min(to, total) ? `(Pages ${from} to ${last} of ${total}: go on with pages "${last + 1}-".)` : undefined,
    from === 1 && last === total ? undefined : `(The document has ${total} pages.)`,
  ]
  if (Buffer.byteLength(text) <= plan.maxOutputBytes)
    return { text, hasPages: true, note: notes.filter((note) => note !== undefined).join('\n') || undefined }
  return {
    text: Buffer.from(text)
      .subarray(0, plan.maxOutputBytes)
      .toString('utf8')
      .replace(/\u{fffd}$/u, ''),
    note: `(Page ${from} is longer than ${plan.maxOutputBytes} bytes: this is its beginning.)`,
  }
}

async function readImage(plan: CallPlan, target: string, image: ReadImage, bound: BoundToolOptions): Promise<DocumentText> {
  const { mediaType } = image
  const bytes = Buffer.from(image.bytes)
  const size = sizeOfImage(bytes)
  const shown = size === undefined ? '' : `, ${size.width} × ${size.height}`
  const fits = size !== undefined && Math.max(size.width, size.height) <= MAX_PIXELS && bytes.length <= plan.imageBytes
  if (fits) return { text: `${mediaType}${shown}, ${bytes.length} bytes`, image }
  const what = `Image (${mediaType}${shown}, ${bytes.length} bytes)`
  const program = imageProgram(moduleOf('sharp', target, what), MAX_PIXELS, plan.imageBytes)
  const { answer, rest } = await run<ImageAnswer>(plan, target, what, program, bytes, bound)
  if (hasFailed(answer)) throw unreadable(target, what, answer.failed)
  const scaled = imageOf(rest)
  const now = scaled && sizeOfImage(Buffer.from(scaled.bytes))
  // The program is in the sandbox with the document, so what it says of its result is not believed.
  if (scaled === undefined || now === undefined || rest.length > plan.imageBytes || Math.max(now.width, now.height) > MAX_PIXELS) {
    throw unreadable(target, what, 'it could not be scaled')
  }
  return {
    text: `${mediaType}${shown}, ${bytes.length} bytes; scaled to ${now.width} × ${now.height}`,
    image: scaled,
  }
}

/** Runs a program with the bytes of a document, in the sandbox without a network. */
async function run<ANSWER extends object>(
  plan: CallPlan,
  target: string,
  what: string,
  program: string,
  bytes: Buffer,
  bound: BoundToolOptions,
): Promise<ReturnType<typeof parseAnswer<ANSWER>>> {
  const limit = AbortSignal.timeout(READ_MS)
  const signal = plan.signal === undefined ? limit : AbortSignal.any([limit, plan.signal])
  const own = confined(plan, MEMORY_BYTES)
  const args = [...(process.versions['bun'] === undefined ? ['--input-type=module'] : []), '-e', program]
  try {
    const reader = await startProcess(
      { signal, timeoutMs: READ_MS, what: `read ${target}` },
      (addon, keep, cancel) =>
        addon.startProcess(
          commandSettings(own, { ...bound })(addon),
          commandOf({ cmd: process.execPath, args, cwd: '.' }, noVariables),
          keep,
          cancel,
        ),
      PROGRAM_IO,
    )
    return parseAnswer<ANSWER>(await outputOf(reader, bytes, signal))
  } catch (error) {
    plan.signal?.throwIfAborted()
    if (limit.aborted) throw unreadable(target, what, `it could not be read in ${READ_MS / 1_000} s`)
    if (error instanceof ProgramFailed || error instanceof SyntaxError) throw unreadable(target, what, error.message)
    throw error
  }
}

/** The package that reads a kind of document. @throws {ToolError} TOOL_FILE_BINARY if the host has not installed it. */
function moduleOf(name: DocumentPackage, target: string, what: string): string {
  try {
    return pathToFileURL(createRequire(import.meta.url).resolve(name)).href
  } catch (cause) {
    const hint = `Look at it with a command that knows its format. The host can install the package \`${name}\`, with which read shows it.`
    throw binary(target, what, hint, cause)
  }
}

const unreadable = (target: string, what: string, why: string): ToolError =>
  binary(target, `${what} cannot be shown: ${printable(why)}`, 'Look at it with a command that knows its format.')

function binary(path: string, summary: string, hint: string, cause?: unknown): ToolError {
  return new ToolError({ code: 'TOOL_FILE_BINARY', summary: `${summary}: \`${path}\``, hint, details: { path }, cause })
}
