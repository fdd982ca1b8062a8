import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { OpenedTarget } from '../../../index.js'
import type { KeptProcess } from '../../core/kept-process.js'
import { call } from '../../core/native.js'
import { emptyPagesNote, pagesText } from '../../documents/pages.js'
import { type DocumentHost, type DocumentProgram, NOTEBOOK_NOTE, readDocument, type ReadPages } from '../../documents/read-document.js'
import type { SeenFiles } from '../../journal/seen-files.js'
import { ServerHomes, type ServerHomesAddon } from '../mcp/server-homes.js'
import { ServerProcess } from '../mcp/server-process.js'
import type { ServerPlace } from '../mcp/server-sandbox.js'
import { characterBoundary, isInside, MAX_CHARACTER_BYTES } from '../registry/limited-output.js'
import type { DocumentPart } from '../registry/tool-runtime.js'

/** How long the reading of a file may take, in milliseconds. */
const READ_MS = 60_000

/** A file of a call, and which bytes of its text are wanted. */
interface WantedPart {
  target: OpenedTarget
  path: string
  offset: number
  limit: number
  signal: AbortSignal
  seen: SeenFiles | undefined
}

/** Reads documents for the calls of a session and its subagents. The programs that take them apart reach no file of the workspace. */
export class SessionDocuments {
  readonly #imageBytes: number
  readonly #homes: ServerHomes
  readonly #place: ServerPlace

  constructor(imageBytes: number, { addon, sandbox }: { addon: ServerHomesAddon; sandbox: ServerPlace['sandbox'] }) {
    this.#imageBytes = imageBytes
    this.#homes = new ServerHomes(addon)
    // They get the bytes of the document by their input.
    this.#place = { roots: [], sandbox, home: (name) => this.#homes.of(name) }
  }

  /**
   * A part of what is in a document: the bytes of its text are counted, as those of a text file are.
   *
   * @returns `undefined` for a file that is none.
   * @throws {ToolError} TOOL_FILE_BINARY for one that cannot be shown; others of `read`.
   */
  async read({ target, path, offset, limit, signal, seen }: WantedPart): Promise<DocumentPart | undefined> {
    const limits = { signal, what: `read ${path}`, timeoutMs: READ_MS }
    const host: DocumentHost = {
      path,
      imageBytes: this.#imageBytes,
      signal,
      bytes: async (maxBytes) => Buffer.from((await call(limits, (_, cancel) => target.readWhole(maxBytes, cancel))) as Buffer),
      cells: async () => {
        const shown = offset === 0 ? limit : 0
        const { text } = await call(limits, (addon, cancel) => target.readNotebook(shown, cancel, seen?.native(addon)))
        return text
      },
      start: (program, ends) => this.#start(program, ends),
    }
    const document = await readDocument(host, { from: 1, to: Number.MAX_SAFE_INTEGER, maxChars: offset + limit })
    if (document === undefined) return undefined
    if ('cells' in document) return { ...partOf(document.cells, offset, limit, true), notes: [NOTEBOOK_NOTE] }
    if ('pdf' in document) return partOfPages(document.pdf, offset, limit)
    const { text, image } = document.image
    const data = Buffer.from(image.bytes.buffer, image.bytes.byteOffset, image.bytes.byteLength).toString('base64')
    return { content: text, offset: 0, bytes: Buffer.byteLength(text), image: { media_type: image.mediaType, data } }
  }

  async #start({ command, module, memoryBytes, timeoutMs }: DocumentProgram, signal: AbortSignal): Promise<KeptProcess> {
    const [program = '', ...args] = command
    const readable = [dirname(program), placeOf(fileURLToPath(module))]
    const sandbox = { limits: { memoryBytes }, readScope: 'system' as const, readable }
    const server = { command: program, args, cwd: '/', sandbox, timeout_ms: timeoutMs }
    return (await ServerProcess.start('document', server, this.#place, signal)).process
  }

  async close(): Promise<void> {
    await this.#homes.remove()
  }
}

/** Where a package and those that it uses lie: the outermost directory of packages around it, or its own directory. */
const placeOf = (module: string): string => /^.*?\/node_modules(?=\/)/u.exec(module)?.[0] ?? dirname(module)

/** Bytes of a text, from the beginning of the character at `offset`. @param isAll whether the text ends here */
function partOf(text: string, offset: number, limit: number, isAll: boolean): DocumentPart {
  const all = Buffer.from(text)
  let from = Math.min(offset, all.length)
  while (from > 0 && offset - from < MAX_CHARACTER_BYTES && isInside(all[from])) from -= 1
  const to = characterBoundary(all, from + limit)
  // A limit within the first character gives it all the same.
  const end = to > from || to === all.length ? to : Math.min(all.length, from + MAX_CHARACTER_BYTES)
  const hasMore = end < all.length || !isAll
  return {
    content: all.toString('utf8', from, end).replace(/\u{fffd}$/u, ''),
    offset: from,
    bytes: all.length,
    ...(hasMore ? { next_offset: end } : {}),
  }
}

function partOfPages({ total, pages }: ReadPages, offset: number, limit: number): DocumentPart {
  const part = partOf(pagesText(pages, 1), offset, limit, pages.length >= total)
  const pdf = `(The text of a PDF document of ${total} ${total === 1 ? 'page' : 'pages'}: offset and limit count bytes of this text.)`
  const empty = emptyPagesNote(pages)
  return { ...part, notes: empty === undefined ? [pdf] : [pdf, empty] }
}
