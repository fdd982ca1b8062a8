/** An attachment as a file. */
import { randomUUID } from 'node:crypto'
import { lstat, open, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { ToolErrorCode } from '../../core/codes.js'
import { ToolError } from '../../core/errors.js'

function refused(code: ToolErrorCode, summary: string, path: string, hint: string, cause?: unknown): ToolError {
  return new ToolError({ code, summary, place: `${summary}: \`${path}\``, hint, details: { path }, cause })
}

const DENIED = ['TOOL_PERMISSION_DENIED', 'Permission denied', 'Choose a directory that this user may write.'] as const
const FULL = ['TOOL_IO_FAILED', 'No space is left', 'Free some space, or choose another directory.'] as const
const FAILED = ['TOOL_IO_FAILED', 'Attachment cannot be written', 'Check the directory and its disk.'] as const
const CAUSES = new Map<unknown, readonly [ToolErrorCode, string, string]>([
  ['EACCES', DENIED],
  ['EPERM', DENIED],
  ['EROFS', DENIED],
  ['ENOSPC', FULL],
  ['EDQUOT', FULL],
])

/**
 * Writes parts as a file of a directory, by a rename. A link in its place is refused: it may lead elsewhere.
 *
 * @returns the absolute path of the file.
 * @throws {ToolError} TOOL_ROOT_INVALID, TOOL_PATH_ESCAPE, TOOL_NOT_A_FILE, TOOL_PERMISSION_DENIED or TOOL_IO_FAILED.
 */
export async function exportFile(directory: string, name: string, parts: AsyncIterable<Uint8Array>): Promise<string> {
  const root = resolve(directory)
  const status = await stat(root).catch(() => undefined)
  if (status?.isDirectory() !== true)
    throw refused('TOOL_ROOT_INVALID', 'Directory does not exist', root, 'Give the path of a directory that exists.')
  const target = join(root, name)
  const there = await lstat(target).catch(() => undefined)
  if (there?.isSymbolicLink() === true) throw refused('TOOL_PATH_ESCAPE', 'A link is in its place', target, 'Remove the link.')
  if (there?.isDirectory() === true) throw refused('TOOL_NOT_A_FILE', 'Path is a directory', target, 'Move the directory away.')
  const fresh = join(root, `.${name}.${randomUUID()}`)
  try {
    const file = await open(fresh, 'wx', 0o666)
    try {
      for await (const part of parts) await file.appendFile(part) // `write` may take a part of it only
    } finally {
      await file.close()
    }
    await rename(fresh, target)
  } catch (error) {
    await rm(fresh, { force: true }).catch(() => undefined)
    if (ToolError.isInstance(error)) throw error
    const [code, summary, hint] = CAUSES.get((error as { code?: unknown }).code) ?? FAILED
    throw refused(code, summary, target, hint, error)
  }
  return target
}
