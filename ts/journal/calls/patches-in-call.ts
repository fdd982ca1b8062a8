/**
 * The records of patches that a command has applied. A patch in a command is no call of its own: it is recorded when the
 * command has ended, under a number of its own, and the record says in which call it was made.
 */
import { isAbsolute, join, relative } from 'node:path'
import type { ReportedPatch } from '../../core/command-patches.js'
import type { NewToolCall, ToolCallEnd } from '../journal-store.js'
import { asJson, textWithoutQuotes } from './recorded-values.js'

/** The name of the tool in the record. */
const TOOL = 'apply_patch'

/** The most changed files that a result names. */
const MAX_CHANGED = 1_000

/** The call with the command. */
export interface CallWithPatches {
  tool: string
  /** Its number within its task. */
  seq: number
  /** The directory to which it is confined. */
  rootDir?: string | undefined
}

/** The recorded arguments: size, hash and files, as for the tool, and the call in which the patch was made. */
export function patchInput({ directory, bytes, sha256, files, total }: ReportedPatch, { tool, seq, rootDir }: CallWithPatches): object {
  const more = total - files.length
  return {
    patchBytes: bytes,
    ...(sha256 !== '' && { patchHash: sha256 }),
    files,
    ...(more > 0 && { moreFiles: more }),
    ...(directory !== '' && { directory: shownDirectory(directory, rootDir) }),
    inside: { tool, seq },
  }
}

/** The facts that the row of a patch shares with the row of a call. */
export const patchFacts = {
  toolName: TOOL,
  sideEffect: true,
  idempotent: false,
  // The program gets nothing but the patch.
  acceptsIdempotencyKey: false,
  hasRevert: false,
} as const

/** A row without its position, and its outcome. The times are the command's own, within possible bounds. */
export function patchRow(
  patch: ReportedPatch,
  call: CallWithPatches,
): [row: Omit<NewToolCall, 'runId' | 'nodeId' | 'attempt' | 'seq'>, end: ToolCallEnd] {
  const now = Date.now()
  const startedAtMs = Math.min(patch.beganMs, now)
  const row = { ...patchFacts, inputJson: asJson(patchInput(patch, call)), startedAtMs }
  const finishedAtMs = Math.min(Math.max(patch.endedMs ?? now, startedAtMs), now)
  if (patch.status === 'success') return [row, { status: 'success', outputText: patch.text, finishedAtMs }]
  // A refused patch has changed nothing.
  return [row, { status: patch.status, errorJson: asJson(patchError(patch)) ?? 'null', finishedAtMs, acted: patch.status === 'unknown' }]
}

/** The recorded form of a failure, without lines of the file or of the patch. */
export function patchError({ isMismatch, text, hint = '' }: ReportedPatch): object {
  const summary = textWithoutQuotes(text)
  const message = isMismatch || hint === '' ? summary : `${summary} ${hint}`
  return { name: 'ToolError', message, code: isMismatch ? 'TOOL_PATCH_FAILED' : 'TOOL_COMMAND_FAILED', summary, hint: '', details: {} }
}

/** The files that patches have changed, each once, with paths relative to the root if they lie below it. */
export function changedFiles(patches: readonly ReportedPatch[], rootDir: string | undefined): string[] {
  const paths = patches
    .filter(({ status }) => status === 'success')
    .flatMap(({ directory, files }) =>
      files.flatMap(({ path, movedTo }) => [path, ...(movedTo === undefined ? [] : [movedTo])]).map((path) => join(directory, path)),
    )
  return [...new Set(paths.map((path) => shownDirectory(path, rootDir)))].slice(0, MAX_CHANGED)
}

function shownDirectory(path: string, rootDir: string | undefined): string {
  if (rootDir === undefined || !isAbsolute(path)) return path
  const below = relative(rootDir, path)
  if (below === '') return '.'
  return below === '..' || below.startsWith('../') ? path : below
}
