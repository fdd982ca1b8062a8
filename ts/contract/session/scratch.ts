import { constants, mkdirSync } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ToolError } from '../../core/errors.js'
import { isWithin } from '../../core/near-paths.js'
import { invalid } from '../../core/options.js'
import { pathOfFile } from '../registry/opened-file.js'
import type { SessionDirectory } from '../call/session-directory.js'

/**
 * The session's directory for files outside the workspace: notes, downloads, files of commands. Its tools and processes
 * use it without agreement, and no other session can. It is removed with the session, except for what the host promotes.
 */
export class Scratch {
  /** Absolute, without links. */
  readonly path: string
  readonly #forked: string | undefined

  constructor(directory: SessionDirectory, fork: { readonly base: string } | undefined) {
    this.#forked = fork?.base
    this.path = join(directory.path, 'scratch')
    mkdirSync(this.path, { mode: 0o700 })
  }

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
   * @throws {ToolError} INVALID_INPUT if the file is not in the scratch directory, or the destination exists or is in a directory
   * of which the session has a fork.
   */
  async promote(path: string, destination: string): Promise<string> {
    const to = resolve(destination)
    if (this.#forked !== undefined && isWithin(this.#forked, to)) {
      throw invalid(
        `\`${to}\` is in the directory that the session has a fork of: have a command copy the file there, which changes the fork, or name a path elsewhere.`,
        {
          path: to,
        },
      )
    }
    const from = await this.#open(path)
    try {
      await mkdir(dirname(to), { recursive: true })
      await using copy = await open(to, 'wx').catch((cause: unknown) => {
        throw destinationError(path, destination, cause)
      })
      await pipeline(from.createReadStream({ autoClose: false }), copy.createWriteStream())
      return to
    } finally {
      await from.close()
    }
  }

  /** Opens the file first, and then checks where it is, so that a link swapped into the path leads to a refusal. */
  async #open(path: string): Promise<FileHandle> {
    const refused = (cause?: unknown): ToolError =>
      invalid(`\`${path}\` is no file of the scratch directory.`, { path, cause: String(cause) })
    const requested = resolve(this.path, path)
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
    const file = await open(requested, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((cause: unknown) => {
      throw refused(cause)
    })
    try {
      const isFile = (await file.stat()).isFile()
      if (isFile && (await pathOfFile(file, requested))?.startsWith(`${this.path}/`) === true) return file
    } catch {
      // A file whose place is unknown is refused.
    }
    await file.close()
    throw refused()
  }
}

function destinationError(path: string, destination: string, cause: unknown): unknown {
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
