/** Files below one root, as the editor and the memory see them. Every operation is native, and confined to the root. */
import { isUtf8 } from 'node:buffer'
import type { EntryListing } from '../../../index.js'
import { ToolError } from '../../core/errors.js'
import { grantedRoot } from '../../core/grants.js'
import { call as callAddon, callLimited, fileText, nativeAddon } from '../../core/native.js'
import { ChangedText } from './changed-text.js'
import { kindOfName } from '../../documents/kinds.js'
import { callPlan, type CallPlan, type CallSettings } from '../../toolkit/tools/call-plan.js'
import { type DocumentText, documentText } from '../../toolkit/tools/documents.js'
import type { BoundToolOptions } from '../../toolkit/settings.js'

/** The most entries that one view of a directory shows. */
const MAX_ENTRIES = 10_000
/** The size limit of a file of which only some lines are shown. */
const MAX_RANGE_BYTES = 10_485_760
/** The most characters of texts that are compared on the host's own thread. */
const MAX_COMPARED = 400_000
/** How later pages of a document are seen. */
const GO_ON = 'view later lines of the text with view_range'

/** The files of one call. Paths are relative to the root, or absolute within it. */
export class TextFiles {
  readonly #plan: CallPlan

  constructor(call: CallSettings) {
    this.#plan = callPlan(call)
  }

  /** The most bytes that one call may return. */
  get limitBytes(): number {
    return this.#plan.maxOutputBytes
  }

  /** Two levels of entries of a directory, or the size of a file. */
  list(path: string): Promise<EntryListing> {
    const plan = this.#plan
    return callAddon(plan.limits(`list ${path}`), (addon, cancel) =>
      addon.listEntries(grantedRoot(addon, plan), path, 2, MAX_ENTRIES, cancel),
    )
  }

  /** The text of a file. With `part`, only a part is shown, so the file may be longer. */
  async read(path: string, part = false): Promise<string> {
    const plan = this.#plan
    const limit = part ? Math.max(this.limitBytes, MAX_RANGE_BYTES) : this.limitBytes
    const bytes = await callAddon(plan.limits(`read ${path}`), (addon, cancel) =>
      addon.read(grantedRoot(addon, plan), path, limit, true, cancel),
    )
    return fileText(bytes)
  }

  /** What is in a document; `undefined` for a file that is none, and where none are shown. With `part`, the text may be longer. */
  async document(path: string, bound: BoundToolOptions, part: boolean): Promise<DocumentText | undefined> {
    const plan = this.#plan
    if (!plan.documents) return undefined
    const maxOutputBytes = part ? Math.max(this.limitBytes, MAX_RANGE_BYTES) : this.limitBytes
    return documentText({ ...plan, maxOutputBytes }, path, undefined, bound, GO_ON)
  }

  /** The text of a file before its change: of a notebook that the model sees as cells, the cells. @throws {ToolError} TOOL_FILE_BINARY if it is not UTF-8. */
  async readToChange(path: string): Promise<ChangedText> {
    const plan = this.#plan
    if (plan.documents && kindOfName(path) === 'notebook') {
      const { text } = await callAddon(plan.limits(`read ${path}`), (addon, cancel) =>
        addon.readNotebook(grantedRoot(addon, plan), path, this.limitBytes, cancel),
      )
      if (text !== undefined) return new ChangedText(text)
    }
    const bytes = await callAddon(plan.limits(`read ${path}`), (addon, cancel) =>
      addon.read(grantedRoot(addon, plan), path, this.limitBytes, true, cancel),
    )
    if (typeof bytes === 'string' || isUtf8(bytes)) return new ChangedText(fileText(bytes))
    const summary = 'Not UTF-8 text'
    throw new ToolError({
      code: 'TOOL_FILE_BINARY',
      summary,
      place: `${summary}: \`${path}\``,
      hint: 'Change it with a command that knows its format.',
      details: { path },
    })
  }

  /** Creates a file. @returns `false` if something exists at the path. */
  create(path: string, content: string): Promise<boolean> {
    const plan = this.#plan
    return callLimited(plan.changeLimits(`create ${path}`), (addon, cancel) =>
      addon.createFile(grantedRoot(addon, plan), path, content, plan.maxOutputBytes, plan.publishSeen(addon), cancel),
    )
  }

  /** Notes that the model was shown lines of a file, from the line `first` on. */
  async noteShown(path: string, lines: string, first: number, isEnd: boolean): Promise<void> {
    const plan = this.#plan
    // A text with replaced bytes is not that of the file.
    if (lines.includes('\u{fffd}')) return
    const addon = await nativeAddon()
    plan.seen(addon)?.noteLines(grantedRoot(addon, plan), path, lines, first, isEnd)
  }

  /**
   * Replaces a text by another in the form of the file, unless the file has changed since this call has read it.
   *
   * @param byLine whether the place is the number of a line, which changes above it make another one.
   * @returns what the model should know of changes of others.
   * @throws {ToolError} TOOL_FILE_CHANGED directly beside changes that the model has not been shown.
   */
  rewrite(path: string, before: ChangedText, changed: string, byLine = false): Promise<string | null> {
    const plan = this.#plan
    const { known } = before
    const content = before.inForm(changed)
    return callLimited(plan.changeLimits(`edit ${path}`), (addon, cancel) =>
      addon.rewriteFile(grantedRoot(addon, plan), path, known, content, plan.maxOutputBytes, plan.publishSeen(addon), cancel, byLine),
    )
  }

  /** What of a text is near one that is not there; `null` where nothing is, or where it would take long to find. */
  async nearTo(content: string, old: string): Promise<string | null> {
    if (content.length + old.length > MAX_COMPARED) return null
    return (await nativeAddon()).missingText(content, old, 'old_str')
  }

  /** Deletes a file, a link, or a directory with everything in it. */
  delete(path: string): Promise<undefined> {
    const plan = this.#plan
    return callLimited(plan.changeLimits(`delete ${path}`), (addon, cancel) =>
      addon.deleteEntry(grantedRoot(addon, plan), path, true, plan.publish, cancel),
    )
  }

  /** Renames a file or a directory. @returns `false` if something exists at the new path. */
  rename(from: string, to: string): Promise<boolean> {
    const plan = this.#plan
    return callLimited(plan.changeLimits(`rename ${from}`), (addon, cancel) =>
      addon.renameEntry(grantedRoot(addon, plan), from, to, plan.publish, cancel),
    )
  }
}

/** A result, and what there is to tell of changes of others. */
export const withNote = (result: string, note: string | null): string => (note === null ? result : `${result}\n${note}`)

/** Lines with their numbers, in the form of `cat -n`. */
export function numberedLines(lines: readonly string[], first: number): string {
  return lines.map((line, index) => `${String(first + index).padStart(6)}\t${line}`).join('\n')
}

/** The offsets of a text, without overlaps. The empty text occurs at the beginning of each line. */
export function placesOf(content: string, searched: string): number[] {
  const places: number[] = []
  if (searched === '') {
    for (let at = 0; at !== -1;) {
      places.push(at)
      const end = content.indexOf('\n', at)
      at = end === -1 ? -1 : end + 1
    }
    return places
  }
  for (let at = content.indexOf(searched); at !== -1; at = content.indexOf(searched, at + searched.length)) places.push(at)
  return places
}

/** The line of an offset, from 0. */
export const lineOf = (content: string, place: number): number => content.slice(0, place).split('\n').length - 1

/** The distinct lines of several offsets, from 1. */
export function linesOf(content: string, places: readonly number[]): number[] {
  let line = 1
  let at = 0
  const lines: number[] = []
  for (const place of places) {
    for (let end = content.indexOf('\n', at); end !== -1 && end < place; end = content.indexOf('\n', at)) {
      line += 1
      at = end + 1
    }
    if (lines.at(-1) !== line) lines.push(line)
  }
  return lines
}

/** Inserts a text into another at an offset. */
export const replacedAt = (content: string, place: number, old: string, by: string): string =>
  `${content.slice(0, place)}${by}${content.slice(place + old.length)}`
