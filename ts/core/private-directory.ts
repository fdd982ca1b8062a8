import { randomBytes } from 'node:crypto'
import { lstatSync, mkdirSync, mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type * as Addon from '../../index.js'
import { unwrap } from './native.js'

type DirectoryAddon = Pick<typeof Addon, 'processName' | 'removeAbandoned' | 'removeDirectory' | 'removeNow'>

const REMOVE_MS = 60_000
const SWEEP_MS = 30_000
/** The time limit for removing all directories at the end of the process, in milliseconds. */
const EXIT_MS = 50

/**
 * A directory that only this user can read, for one session. Its name identifies the process, so a later session can remove
 * the directories of killed processes.
 */
export class PrivateDirectory {
  /** Absolute, without links. */
  readonly path: string
  /** The directory of all sessions of this user. */
  readonly base: string
  readonly #addon: DirectoryAddon
  #removed: Promise<void> | undefined

  constructor(addon: DirectoryAddon) {
    this.#addon = addon
    this.base = baseDirectory()
    this.path = mkdtempSync(join(this.base, `${addon.processName()}-${randomBytes(4).toString('hex')}-`))
    live.add(this)
    watchExit(addon)
  }

  /** Removes the directory on another thread, and ends the idle workers of the session. */
  remove(): Promise<void> {
    return (this.#removed ??= this.#remove())
  }

  async #remove(): Promise<void> {
    const whyLeft = unwrap(await this.#addon.removeDirectory(this.outermost, REMOVE_MS))
    if (whyLeft === null) live.delete(this)
    if (isShared(this.base)) this.#addon.removeAbandoned(this.base, SWEEP_MS)
  }

  /** The directory to remove with the session: its own, or its parent if that was made for this session. */
  get outermost(): string {
    return isShared(this.base) ? this.path : this.base
  }
}

/** Whether a base directory is the one that all sessions share. */
const isShared = (base: string): boolean => basename(base).startsWith('toolwright-sessions-')

const live = new Set<PrivateDirectory>()
let watching = false

/** Removes as many directories as there is time for. A later process removes the others. */
function watchExit(addon: DirectoryAddon): void {
  if (watching) return
  watching = true
  process.once('exit', () => {
    addon.removeNow(
      Array.from(live, ({ outermost }) => outermost),
      EXIT_MS,
    )
  })
}

/** Makes a directory that only this user can read. Refuses a link, or the directory of another user. */
function baseDirectory(): string {
  const parent = realpathSync(tmpdir())
  const user = process.getuid?.() ?? 0
  const base = join(parent, `toolwright-sessions-${user}`)
  try {
    mkdirSync(base, { mode: 0o700 })
  } catch {
    // The directory exists or cannot be made, which the check below decides.
  }
  const stats = lstatSync(base, { throwIfNoEntry: false })
  const isOurs = stats?.isDirectory() === true && stats.uid === user && (stats.mode & 0o077) === 0
  return isOurs ? base : mkdtempSync(join(parent, 'toolwright-session-'))
}
