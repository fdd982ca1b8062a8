/** The changes of a call in the forms of the protocol. */
import { isAbsolute, relative, resolve } from 'node:path'
import { changesOf, type FileChange } from '../call/file-changes.js'
import { overwrittenText } from '../call/overwritten-text.js'
import type { Envelope } from '../registry/envelope.js'
import { recordOf } from '../registry/json-schema.js'
import { gitPatch } from './git-patch.js'

/** A change of one file in version 1. */
export interface AcpDiff {
  type: 'diff'
  path: string
  oldText?: string | null
  newText: string
}

/** One file of a change in version 2. */
export type AcpDiffChange =
  | { operation: 'add' | 'delete' | 'modify'; path: string; fileType?: 'text' }
  | { operation: 'move'; oldPath: string; path: string; fileType?: 'text' }

/** Changes of files in version 2. */
export interface AcpDiffV2 {
  type: 'diff'
  changes: AcpDiffChange[]
  patch?: { format: 'git_patch'; text: string }
}

/** A call, and the known facts about it. */
export interface ChangingCall {
  tool: string
  args: Record<string, unknown>
  result: Envelope | undefined
  workspace: string
  /** The text that a `write` overwrites, if the caller knows it. */
  oldText: string | undefined
}

/** The diffs of a call for version 1. */
export function diffsOf(call: ChangingCall): AcpDiff[] {
  const { workspace, result, tool } = call
  const known = tool === 'write' && call.oldText !== undefined ? undefined : changesOf(result)
  const whole = (known ?? []).flatMap((change) => wholeDiff(change, workspace))
  return whole.length > 0 ? whole : diffOfArguments(call)
}

/** A file with its texts; nothing if one of them is unknown, because half a diff would show a file as new or deleted. */
function wholeDiff({ path, change, before, after }: FileChange, workspace: string): AcpDiff[] {
  const at = resolve(workspace, path)
  if (change === 'add') return after === undefined ? [] : [{ type: 'diff', path: at, oldText: before ?? null, newText: after }]
  if (before === undefined) return []
  if (change === 'delete') return [{ type: 'diff', path: at, oldText: before, newText: '' }]
  return after === undefined ? [] : [{ type: 'diff', path: at, oldText: before, newText: after }]
}

/** The changes that follow from the arguments alone. */
function diffOfArguments({ tool, args, workspace, oldText, result }: ChangingCall): AcpDiff[] {
  const { path, content, old_string: old, new_string: newText } = args
  if (typeof path !== 'string' || path === '') return []
  const at = resolve(workspace, path)
  if (tool === 'write' && typeof content === 'string') {
    return [{ type: 'diff', path: at, oldText: oldText ?? overwrittenText(result) ?? null, newText: content }]
  }
  if (tool !== 'edit' || typeof old !== 'string' || typeof newText !== 'string') return []
  return [{ type: 'diff', path: at, oldText: old, newText }]
}

/** The changes of a call for version 2, with a patch if every text is known. */
export function diffV2Of(call: ChangingCall): AcpDiffV2[] {
  const { workspace, result, tool, oldText } = call
  const known = changesOf(result) ?? changesFromArguments(call)
  if (known.length === 0) return []
  const changes = known.map((one) => changeV2(one, workspace))
  const texts = known.map(({ path, movedFrom = path, change, before, after }) => ({
    change,
    path: inWorkspace(path, workspace),
    oldPath: inWorkspace(movedFrom, workspace),
    before: change === 'add' ? '' : tool === 'write' ? (oldText ?? before) : before,
    after: change === 'delete' ? '' : after,
  }))
  const isWhole = (one: (typeof texts)[number]): one is typeof one & { before: string; after: string } =>
    one.before !== undefined && one.after !== undefined
  if (!texts.every(isWhole)) return [{ type: 'diff', changes }]
  return [{ type: 'diff', changes, patch: { format: 'git_patch', text: gitPatch(texts) } }]
}

function changeV2({ path, change, movedFrom }: FileChange, workspace: string): AcpDiffChange {
  const at = resolve(workspace, path)
  if (change === 'move') return { operation: 'move', oldPath: resolve(workspace, movedFrom ?? path), path: at, fileType: 'text' }
  return { operation: change === 'update' ? 'modify' : change, path: at, fileType: 'text' }
}

function changesFromArguments({ tool, args, result, oldText }: ChangingCall): FileChange[] {
  const { path, content } = args
  const { files, created } = recordOf(result?.type === 'output' ? result.data : undefined)
  if (tool === 'apply_patch' && Array.isArray(files)) {
    return (files as { path: string; change: FileChange['change']; moved_to?: string }[]).map(({ path: from, change, moved_to: to }) =>
      to === undefined ? { path: from, change } : { path: to, change, movedFrom: from },
    )
  }
  if (typeof path !== 'string' || path === '') return []
  if (tool === 'edit') return [{ path, change: 'update' }]
  if (tool !== 'write' || typeof content !== 'string') return []
  const before = oldText ?? overwrittenText(result)
  const isNew = result === undefined ? before === undefined : created === true
  return [{ path, change: isNew ? 'add' : 'update', before, after: content }]
}

/** The path in git's form: relative to the workspace, or absolute without its first slash. */
function inWorkspace(path: string, workspace: string): string {
  const at = resolve(workspace, path)
  const below = relative(workspace, at)
  return below.startsWith('..') || isAbsolute(below) ? at.replace(/^\/+/u, '') : below
}
