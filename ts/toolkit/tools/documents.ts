/** Documents in `read` of `createTools`: of files below the root directory, by programs in the sandbox of commands. */
import { grantedRoot } from '../../core/grants.js'
import { call as callAddon } from '../../core/native.js'
import type { ModelImage } from '../../documents/images.js'
import { parsePages, shownPages } from '../../documents/pages.js'
import { type DocumentHost, NOTEBOOK_NOTE, readDocument, readImage } from '../../documents/read-document.js'
import { PROGRAM_IO } from '../../documents/run-program.js'
import type { BoundToolOptions } from '../settings.js'
import type { CallPlan } from './call-plan.js'
import { startConfined } from './start-confined.js'

/** What a document is for a model. */
export interface DocumentText {
  text: string
  note?: string | undefined
  image?: ModelImage | undefined
  /** Whether `pages` chooses parts of it. */
  hasPages?: boolean | undefined
}

/**
 * Reads a document.
 *
 * @param goOn how the model sees later pages, if not by `pages`
 * @returns `undefined` for a file that is none, whatever its name is.
 * @throws {ToolError} TOOL_FILE_BINARY for one that cannot be shown; others of `read`.
 */
export async function documentText(
  plan: CallPlan,
  path: string,
  pages: string | undefined,
  bound: BoundToolOptions,
  goOn?: string,
): Promise<DocumentText | undefined> {
  const range = parsePages(pages)
  const document = await readDocument(documentHost(plan, path, bound), { ...range, maxChars: plan.maxOutputBytes })
  if (document === undefined) return undefined
  if ('cells' in document) return { text: document.cells, note: NOTEBOOK_NOTE }
  if ('image' in document) return document.image
  return { ...shownPages(document.pdf, range.to, plan.maxOutputBytes, goOn), hasPages: true }
}

/** An image as it is, in a set that shows no other documents; `undefined` for a file that is none. */
export const plainImage = (plan: CallPlan, path: string, bound: BoundToolOptions): Promise<DocumentText | undefined> =>
  readImage(documentHost(plan, path, bound), false)

function documentHost(plan: CallPlan, path: string, bound: BoundToolOptions): DocumentHost {
  return {
    path,
    imageBytes: plan.imageBytes,
    signal: plan.signal,
    bytes: async (maxBytes) => {
      const bytes = await callAddon(plan.limits(`read ${path}`), (addon, cancel) =>
        addon.read(grantedRoot(addon, plan), path, maxBytes, false, cancel),
      )
      return Buffer.from(bytes as Buffer)
    },
    cells: async () => {
      const { text } = await callAddon(plan.limits(`read ${path}`), (addon, cancel) =>
        addon.readNotebook(grantedRoot(addon, plan), path, plan.maxOutputBytes, cancel, plan.seen(addon)),
      )
      return text
    },
    start: (program, signal) => startConfined(plan, bound, { ...program, what: `read ${path}` }, signal, PROGRAM_IO),
  }
}
