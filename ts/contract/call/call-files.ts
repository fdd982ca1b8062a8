import { keptForm } from '../../core/text.js'
import type * as Addon from '../../../index.js'
import type { ContractSearch, OpenedTarget, SidecarRequest } from '../../../index.js'
import { traceStep } from '../../core/call-channel.js'
import { ToolError } from '../../core/errors.js'
import { call, callLimited, type CallLimits, fileText, tryNowait, unwrap } from '../../core/native.js'
import { patchTargets } from '../registry/contract-tool.js'
import {
  type Listing,
  type MatchListing,
  type PatchedFile,
  patchedFile,
  type RuntimeFiles,
  type TreeOverview,
} from '../registry/tool-runtime.js'
import { type CallScope, withDescriptor } from './access-controller.js'
import { textBefore } from './overwritten-text.js'
import { anchoredPattern, explainPattern } from './path-advice.js'

/** How much longer a call that changes a file may take to report its outcome. */
export const GRACE_MS = 1_000
/** The addon ends its work at the timeout. A call that hangs is given up this much later. */
export const HANG_GRACE_MS = 5_000
/** How long a change waits for other changes of the same file. */
const WAIT_MS = 60_000
/** How many levels of directories an overview shows. */
const OVERVIEW_DEPTH = 3
/** How much of what a call wrote is kept for a diff. */
const MAX_SHOWN = 1_000_000
const publish = { fsync: false, allowInPlace: false, waitMs: WAIT_MS }

/** What a model should know of a change. */
function noted(...notes: (string | null | undefined)[]): { notes?: string[] } {
  const told = notes.filter((note) => note !== undefined && note !== null)
  return told.length === 0 ? {} : { notes: told }
}

export function callFiles({ scope, access, tool, id, signal, onOverwritten, changes }: CallScope): RuntimeFiles {
  const { directory } = scope
  const { limits, seen, documents, formatters } = scope.host
  const shown = documents === undefined ? publish : { ...publish, notebooks: true }
  const publishSeen = (addon: typeof Addon): Addon.PublishOptions => (seen === undefined ? shown : { ...shown, seen: seen.native(addon) })
  const { roots } = scope.access
  const changing = (what: string): CallLimits => ({ signal, what, timeoutMs: WAIT_MS + HANG_GRACE_MS, graceMs: GRACE_MS })
  const searching = (what: string): CallLimits => ({ signal, what, timeoutMs: limits.searchMs + HANG_GRACE_MS })
  const searchRequest = (pattern: string, maxResults: number, agreed: boolean, sidecar: SidecarRequest): ContractSearch => ({
    pattern,
    maxResults,
    agreed,
    timeoutMs: limits.searchMs,
    toolId: tool,
    sidecar,
  })
  /** Formats a changed file, in a session that does. */
  const format = async (path: string, target: OpenedTarget | undefined): Promise<string | undefined> => {
    if (formatters === undefined || target === undefined) return undefined
    const replace = async (oldString: string, newString: string): Promise<void> => {
      const edit = { oldString, newString, replaceAll: false }
      const limited = changing(`format ${path}`)
      await callLimited(limited, (addon, cancel) => target.edit(edit, limits.textBytes, publishSeen(addon), cancel))
    }
    return formatters.format([{ path: target.realPath, text: () => access.textNow(path), replace }], signal)
  }
  return {
    async read(path, { offset = 0, limit = limits.readBytes } = {}) {
      const target = await access.open(path, 'read')
      const max = Math.min(limit, limits.readBytes)
      const whole = offset === 0 ? tryNowait(signal, (addon) => target.tryReadCached(max, seen?.native(addon))) : undefined
      if (whole !== undefined) return { content: fileText(whole), offset, bytes: whole.length }
      const callLimits = { signal, what: `read ${path}`, timeoutMs: WAIT_MS }
      const part = await withDescriptor(
        () => call(callLimits, (addon, cancel) => target.readRange(offset, max, cancel, seen?.native(addon))),
        signal,
      )
      return {
        content: fileText(part.text),
        offset: part.offset,
        bytes: part.fileBytes,
        ...(part.nextOffset === undefined ? {} : { next_offset: part.nextOffset }),
        ...(part.lossy ? { lossy: true } : {}),
      }
    },
    document:
      documents &&
      (async (path, { offset = 0, limit = limits.readBytes } = {}) => {
        const target = await access.open(path, 'read')
        const wanted = { target, path, offset, limit: Math.min(limit, limits.readBytes), signal, seen }
        return withDescriptor(() => documents.read(wanted), signal)
      }),
    async write(path, content) {
      const target = await access.open(path, 'write')
      const before = onOverwritten === undefined && changes === undefined ? undefined : await textBefore(target, signal)
      const { bytes, created, note, ...form } = await withDescriptor(
        () =>
          callLimited(changing(`write ${path}`), (addon, cancel) => target.write(content, limits.textBytes, publishSeen(addon), cancel)),
        signal,
      )
      onOverwritten?.(before)
      const formatted = await format(path, target)
      const written = content.length > MAX_SHOWN ? undefined : content
      const after = formatted === undefined || changes === undefined ? written : await access.textNow(path)
      changes?.add({ path, change: created ? 'add' : 'update', before, after })
      const kept = keptForm(form)
      return { bytes, created, ...(kept.length > 0 && { kept }), ...noted(note, formatted) }
    },
    async replace(path, change) {
      const target = await access.open(path, 'edit')
      const edit = { oldString: change.old, newString: change.new, replaceAll: change.all ?? false }
      const before = changes && (await textBefore(target, signal))
      // Without a descriptor nothing has been changed.
      const { replacements, note } = await withDescriptor(
        () => callLimited(changing(`edit ${path}`), (addon, cancel) => target.edit(edit, limits.textBytes, publishSeen(addon), cancel)),
        signal,
      )
      const formatted = await format(path, target)
      changes?.add({ path, change: 'update', before, after: before === undefined ? undefined : await access.textNow(path) })
      return { replacements, ...noted(note, formatted) }
    },
    async applyPatch(patch) {
      const files = unwrap(scope.access.addon.planPatch(patch, limits.textBytes)).map(patchedFile)
      const targets: OpenedTarget[] = []
      for (const target of patchTargets(files)) targets.push(await access.open(target.path, target.access))
      const before = changes && (await textsBefore(files, targets, signal))
      const done = await withDescriptor(
        () =>
          callLimited(changing('apply_patch'), (addon, cancel) =>
            addon.applyPatchToTargets(targets, patch, limits.textBytes, publishSeen(addon), cancel),
          ),
        signal,
      )
      const patched = done.files().map(patchedFile)
      await formatPatched(patched, targets, format)
      for (const [index, { path, change, moved_to: movedTo }] of (changes === undefined ? [] : files).entries()) {
        const now = movedTo ?? path
        const after = change === 'delete' || changes?.hasRoom !== true ? undefined : await access.textNow(now)
        changes?.add({ path: now, change, before: before?.[index], after, ...(movedTo === undefined ? {} : { movedFrom: path }) })
      }
      return patched
    },
    async glob(pattern, path) {
      const { target, also, agreed } = await access.search(path)
      if (target.kind !== 'directory') throw notADirectory('glob', path ?? '.')
      const found = await directory.withSidecar(tool, id, limits.sidecarBytes, (file) => {
        const request = searchRequest(anchoredPattern(pattern), limits.globEntries, agreed, file)
        return traceStep('search', { operation: 'glob' }, () =>
          callLimited(searching(`glob ${pattern}`), (_, cancel) => target.glob(request, also, access.forSearches, cancel)),
        )
      })
      const listing = JSON.parse(found) as Listing<string>
      if (listing.items.length === 0) explainPattern(pattern, 'pattern', roots)
      return listing
    },
    async grep(pattern, { path, glob, case_insensitive: caseInsensitive = false } = {}) {
      const { target, also, agreed } = await access.search(path)
      const found = await directory.withSidecar(tool, id, limits.sidecarBytes, (file) => {
        const request = searchRequest(pattern, limits.grepMatches, agreed, file)
        const options = { ...(glob === undefined ? {} : { glob: anchoredPattern(glob) }), caseInsensitive }
        return traceStep('search', { operation: 'grep' }, () =>
          callLimited(searching(`grep ${pattern}`), (_, cancel) => target.grep(request, options, also, access.forSearches, cancel)),
        )
      })
      const matches = JSON.parse(found) as MatchListing
      if (glob !== undefined && matches.files_scanned === 0) explainPattern(glob, 'glob', roots)
      return matches
    },
    async overview({ path, depth = OVERVIEW_DEPTH } = {}) {
      const { target, also, agreed } = await access.search(path)
      if (target.kind !== 'directory') throw notADirectory(tool, path ?? '.')
      const request = { depth, maxLines: limits.overviewLines, timeoutMs: limits.searchMs, toolId: tool, agreed }
      const overview = await traceStep('search', { operation: 'overview' }, () =>
        callLimited(searching('overview'), (_, cancel) => target.overview(request, also, access.forSearches, cancel)),
      )
      return JSON.parse(overview) as TreeOverview
    },
  }
}

/** Formats the files of a patch, and adds what there is to tell to each of them. */
async function formatPatched(
  files: readonly PatchedFile[],
  targets: readonly OpenedTarget[],
  format: (path: string, target: OpenedTarget | undefined) => Promise<string | undefined>,
): Promise<void> {
  let at = 0
  for (const file of files) {
    const { path, change, moved_to: movedTo } = file
    // A moved file has a second target, its new place.
    at += movedTo === undefined ? 1 : 2
    // eslint-disable-next-line no-await-in-loop -- one after the other: a formatter takes memory
    const note = change === 'delete' ? undefined : await format(movedTo ?? path, targets[at - 1])
    if (note !== undefined) file.notes = [...(file.notes ?? []), note]
  }
}

/** The texts of the files of a patch, as far as there is room for them. */
async function textsBefore(
  files: readonly PatchedFile[],
  targets: readonly OpenedTarget[],
  signal: AbortSignal,
): Promise<(string | undefined)[]> {
  const texts: (string | undefined)[] = []
  let size = 0
  let at = 0
  for (const { change, moved_to: movedTo } of files) {
    const text = change === 'add' || size > MAX_SHOWN ? undefined : await textBefore(targets[at], signal)
    size += text?.length ?? 0
    texts.push(text)
    // A moved file has a second target, its new place.
    at += movedTo === undefined ? 1 : 2
  }
  return texts
}

function notADirectory(tool: string, path: string): ToolError {
  const summary = 'Not a directory'
  const hint = `${tool} looks into directories: name one, or leave \`path\` out to look in the whole workspace.`
  return new ToolError({ code: 'TOOL_NOT_A_DIRECTORY', summary, place: `${summary}: \`${path}\``, hint, details: { path } })
}
