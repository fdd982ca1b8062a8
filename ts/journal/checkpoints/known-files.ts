import { realpathSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import type { CheckpointChange } from './checkpoints.js'

/** The most files that are remembered: the oldest are forgotten first. */
const MAX_FILES = 10_000
/** The most paths that a note names. */
const MAX_NAMED = 20

/** The files whose contents a model knows, because it has read them. */
export class KnownFiles {
  readonly #files = new Set<string>()
  readonly #dir: string

  /** @param dir the directory of the checkpoints. */
  constructor(dir: string) {
    this.#dir = realPath(resolve(dir))
  }

  /** A file was read, by its path in a root. */
  add(path: string, root: string): void {
    const name = relative(this.#dir, resolve(realPath(root), path))
    this.#files.delete(name)
    this.#files.add(name)
    if (this.#files.size <= MAX_FILES) return
    for (const oldest of this.#files) {
      this.#files.delete(oldest)
      break
    }
  }

  /** What a model is told of files that it knows and a command has changed. They are not known any more. */
  staleNote(changed: readonly CheckpointChange[]): string | undefined {
    const stale = changed.filter(({ path }) => this.#files.delete(path))
    if (stale.length === 0) return undefined
    return `You have read these files, and this command changed them: ${listed(stale.map(({ path }) => path))}. Read them again.`
  }
}

/** Names, and how many more there are. */
export function listed(texts: readonly string[]): string {
  const more = texts.length - MAX_NAMED
  return texts.slice(0, MAX_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
