import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { invalid } from '../../core/options.js'
import { realDirectory } from './workspace-roots.js'

/**
 * What `{ad-hoc}` stands for: the directories that a session was given, those of the files that are open in it, and
 * those of its parent. They are looked up when a file is opened, and not again.
 */
export class AdHocFiles {
  readonly #given: readonly string[]
  readonly #parent: AdHocFiles | undefined
  /** By the absolute path of the file: its directory, and how often it is open. */
  readonly #open = new Map<string, { directory: string; count: number }>()
  #directories: readonly string[] = []
  /** What the parent had when they were put together; `undefined` when they have to be again. */
  #above: readonly string[] | undefined

  constructor(given: readonly string[], parent?: AdHocFiles) {
    this.#given = given
    this.#parent = parent
  }

  /** Each once. The same array until something changes. */
  get directories(): readonly string[] {
    const above = this.#parent?.directories ?? none
    if (this.#above !== above) {
      const own = [...this.#open.values()].map(({ directory }) => directory)
      this.#directories = Object.freeze([...new Set([...above, ...this.#given, ...own])])
      this.#above = above
    }
    return this.#directories
  }

  /**
   * A file is opened by the user; it need not exist yet. Its own link, if it is one, is not followed: whoever made
   * the link would choose the directory.
   *
   * @throws {ToolError} INVALID_INPUT where there is no such directory.
   */
  open(path: string): void {
    const file = resolve(path)
    const known = this.#open.get(file)
    if (known !== undefined) {
      known.count += 1
      return
    }
    const directory = realDirectory('path', dirname(file))
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true) {
      throw invalid(`\`${path}\` is a directory, and no file; the option adHoc takes directories.`, { path })
    }
    this.#open.set(file, { directory, count: 1 })
    this.#above = undefined
  }

  /**
   * A file is closed as often as it was opened.
   *
   * @throws {ToolError} INVALID_INPUT for one that is not open.
   */
  close(path: string): void {
    const file = resolve(path)
    const known = this.#open.get(file)
    if (known === undefined) throw invalid(`\`${path}\` is not open in this session.`, { path })
    known.count -= 1
    if (known.count > 0) return
    this.#open.delete(file)
    this.#above = undefined
  }
}

const none: readonly string[] = Object.freeze([])
