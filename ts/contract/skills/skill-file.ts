import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath, stat } from 'node:fs/promises'

/** The most that a skill, or a file of instructions, may have. */
export const MAX_TEXT_BYTES = 1_000_000

/** The users whose files may tell an agent what to do; without it, everybody. */
export type TrustedOwners = ReadonlySet<number> | undefined

/**
 * Whom to trust in the directories around a workspace, which may be anybody's, as `/tmp` is: root, the user of this
 * process, and those to whom the workspace itself belongs.
 */
export async function ownersOf(roots: readonly string[]): Promise<TrustedOwners> {
  const own = process.getuid?.()
  if (own === undefined) return undefined
  const ofRoots = await Promise.all(roots.map(async (root) => (await stat(root)).uid))
  return new Set([0, own, ...ofRoots])
}

/**
 * The text of a file that has to be where its path says, with no link on the way. It is opened first, and
 * what was opened is looked at: what is swapped in between is not read.
 *
 * @param path Absolute and without links.
 * @throws {Error} in words, for what is no such file.
 */
export async function readPlainFile(path: string, owners?: TrustedOwners): Promise<string> {
  const limitBytes = MAX_TEXT_BYTES
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw new Error('it is no file')
    if (owners?.has(stats.uid) === false) throw new Error('it belongs to another user')
    if (stats.size > limitBytes) throw new Error(`it has ${stats.size} bytes, and ${limitBytes} are the most`)
    if ((await openedPath(file, path, stats)) !== path) throw new Error('a link leads to it')
    // One byte more shows a file that grows while it is read.
    const bytes = Buffer.alloc(Math.min(limitBytes, stats.size) + 1)
    let length = 0
    while (length < bytes.length) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return decodeText(bytes.subarray(0, Math.min(length, stats.size)))
  } finally {
    await file.close()
  }
}

/** Where the opened file is; elsewhere than on Linux, by a second look that must find the same file. */
async function openedPath(file: FileHandle, path: string, opened: Stats): Promise<string | undefined> {
  if (process.platform === 'linux') return readlink(`/proc/self/fd/${file.fd}`)
  const [real, found] = await Promise.all([realpath(path), lstat(path)])
  return found.dev === opened.dev && found.ino === opened.ino ? real : undefined
}

function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Error('it is not UTF-8')
  }
}
