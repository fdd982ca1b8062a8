/** The source files of a project as they are on the disk or in a fork, and how they have changed since they were looked at. */
import { lstatSync } from 'node:fs'
import type { WatchedChange } from './server-session.js'

/** The most files that are looked at. */
const MAX_FILES = 20_000
/** How many are looked at in one turn of the event loop. */
const IN_TURN = 200

/** What changes with each change of a file; `undefined` without one. */
export type StateOf = (path: string) => string | undefined | Promise<string | undefined>

export class SourceFiles {
  #seen: Map<string, string> | undefined

  /** @returns the changes since the last time; none at the first. */
  async changes(paths: readonly string[], stateOf: StateOf = stateOnDisk): Promise<WatchedChange[]> {
    const now = new Map<string, string>()
    for (const [index, path] of paths.slice(0, MAX_FILES).entries()) {
      const told = stateOf(path)
      // eslint-disable-next-line no-await-in-loop -- of a fork alone
      const state = told instanceof Promise ? await told : told
      if (state !== undefined) now.set(path, state)
      // eslint-disable-next-line no-await-in-loop -- lets others have a turn
      if (index % IN_TURN === IN_TURN - 1) await new Promise((resolve) => void setImmediate(resolve))
    }
    const before = this.#seen
    this.#seen = now
    if (before === undefined) return []
    const changes: WatchedChange[] = []
    for (const [path, state] of now) {
      const old = before.get(path)
      if (old !== state) changes.push({ path, kind: old === undefined ? 'made' : 'changed' })
    }
    for (const path of before.keys()) if (!now.has(path)) changes.push({ path, kind: 'removed' })
    return changes
  }
}

function stateOnDisk(path: string): string | undefined {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = lstatSync(path, { bigint: true })
    return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`
  } catch {
    return undefined
  }
}
