import { constants, mkdirSync } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readlink, realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ToolError } from '../../core/errors.js'
import { invalid } from '../../core/options.js'
import type { SessionDirectory } from '../call/session-directory.js'

/**
 * A session's directory for files that are not part of the workspace: notes, downloads, what a command
 * leaves. Its tools and the processes of its commands use it without being asked for; no other session can. It
 * goes with the session, and what is to stay is promoted by the host.
 */
export class Scratch {
  /** Absolute, without links. */
  readonly path: string

  constructor(directory: SessionDirectory) {
    this.path = join(directory.path, 'scratch')
    mkdirSync(this.path, { mode: 0o700 })
  }

  /** What a system prompt says of it. */
  prompt(): string {
    return (
      `Files that are not part of the project belong in ${this.path}. ` +
      'It can be read and written without asking, and is removed at the end unless the user keeps something.'
    )
  }

  /**
   * Copies a file to where it stays. Missing directories are made, and nothing is overwritten.
   *
   * @returns the absolute path of the copy.
   * @throws {ToolError} INVALID_INPUT for what is no file of the scratch directory, or for a place that is taken.
   */
  async promote(path: string, destination: string): Promise<string> {
    const from = await this.#open(path)
    try {
      const to = resolve(destination)
      await mkdir(dirname(to), { recursive: true })
      await using copy = await open(to, 'wx').catch((cause: unknown) => {
        throw taken(path, destination, cause)
      })
      await pipeline(from.createReadStream({ autoClose: false }), copy.createWriteStream())
      return to
    } finally {
      await from.close()
    }
  }

  /** Opened first, and then asked where it is: a link that is put into the path meanwhile leads to a refusal. */
  async #open(path: string): Promise<FileHandle> {
    const refused = (cause?: unknown): ToolError =>
      invalid(`\`${path}\` is no file of the scratch directory.`, { path, cause: String(cause) })
    const wanted = resolve(this.path, path)
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
    const file = await open(wanted, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((cause: unknown) => {
      throw refused(cause)
    })
    try {
      const isFile = (await file.stat()).isFile()
      if (isFile && (await placeOf(file, wanted)).startsWith(`${this.path}/`)) return file
    } catch {
      // What cannot be told is refused.
    }
    await file.close()
    throw refused()
  }
}

/** Where an open file is; where the system has no word for it, where its path leads, if that is it. */
async function placeOf(file: FileHandle, path: string): Promise<string> {
  if (process.platform === 'linux') return readlink(`/proc/self/fd/${file.fd}`)
  const real = await realpath(path)
  const [opened, found] = [await file.stat(), await lstat(real)]
  return opened.ino === found.ino && opened.dev === found.dev ? real : ''
}

function taken(path: string, destination: string, cause: unknown): unknown {
  if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') return cause
  return new ToolError({
    code: 'INVALID_INPUT',
    summary: 'The destination exists',
    place: `The destination exists: \`${destination}\``,
    hint: 'Choose another name, or remove it first.',
    details: { path, destination },
    cause,
  })
}
