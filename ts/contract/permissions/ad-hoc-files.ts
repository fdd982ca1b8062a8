import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { invalid } from '../../core/options.js'
import { realDirectory } from './workspace-roots.js'

/**
 * The directories behind `{ad-hoc}`: those of the options, those of the files that the user has open, and those of the
 * parent session. A directory is resolved once, when its file is opened.
 */
export class AdHocFiles {
  readonly #initial: readonly string[]
  readonly #parent: AdHocFiles | undefined
  /** Directory and number of openings, by the absolute path of the file. */
  readonly #open = new Map<string, { directory: string; count: number }>()
  #directories: readonly string[] = []
  /** The parent's directories at the time of the last update; `undefined` if an update is due. */
  #above: readonly string[] | undefined

  constructor(initial: readonly string[], parent?: AdHocFiles) {
    this.#initial = initial
    this.#parent = parent
  }

  /** Without duplicates. The array stays the same until a directory changes. */
  get directories(): readonly string[] {
    const above = this.#parent?.directories ?? none
    if (this.#above !== above) {
      const own = [...this.#open.values()].map(({ directory }) => directory)
      this.#directories = Object.freeze([...new Set([...above, ...this.#initial, ...own])])
      this.#above = above
    }
    return this.#directories
  }

  /**
   * The user opens a file, which need not exist yet. A link is not followed: its author would choose the directory.
   *
   * @throws {ToolError} INVALID_INPUT if the directory does not exist.
   */
  open(path: string): void {
    const file = resolve(path)
    const existing = this.#open.get(file)
    if (existing !== undefined) {
      existing.count += 1
      return
    }
    const directory = realDirectory('path', dirname(file))
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true) {
      throw invalid(`\`${path}\` is a directory, and no file; the option adHoc takes directories.`, { path })
    }
    this.#open.set(file, { directory, count: 1 })
    this.#above = undefined
  }

  /** The user closes a file, as often as it was opened. @throws {ToolError} INVALID_INPUT for a file that is not open. */
  close(path: string): void {
    const file = resolve(path)
    const existing = this.#open.get(file)
    if (existing === undefined) throw invalid(`\`${path}\` is not open in this session.`, { path })
    existing.count -= 1
    if (existing.count > 0) return
    this.#open.delete(file)
    this.#above = undefined
  }
}

const none: readonly string[] = Object.freeze([])
