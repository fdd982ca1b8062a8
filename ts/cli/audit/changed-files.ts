import type { Dirent } from 'node:fs'
import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { obeyedBy } from './places.js'

/** A file that programs of a person run or obey, and that has changed. */
export interface AuditedFile {
  path: string
  /** What runs or obeys it. */
  by: string
  /** When it changed, in milliseconds since 1970: its content, or its name, mode or owner. */
  changedAtMs: number
  isExecutable: boolean
}

/** Directories with many files, of which only a few parts are looked at. */
const IN_PART: Record<string, (name: string) => boolean> = {
  node_modules: (name) => name === '.bin' || name.startsWith('@'),
  '.git': (name) => ['hooks', 'modules', 'rebase-merge', 'rebase-apply'].includes(name),
}
const MAX_DEPTH = 24

/** Yields the files below a directory that have changed since a time. Links are files, and are not followed. */
export async function* changedFiles(root: string, sinceMs: number, onDirectory: () => void): AsyncGenerator<AuditedFile> {
  const queue: [string, number][] = [['', 0]]
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const [directory, depth] = next
    onDirectory()
    for (const entry of await entries(join(root, directory))) {
      const path = directory === '' ? entry.name : `${directory}/${entry.name}`
      if (entry.isDirectory()) {
        if (depth < MAX_DEPTH && isEntered(directory, entry.name)) queue.push([path, depth + 1])
        continue
      }
      const by = obeyedBy(path) ?? undefined
      const found = by === undefined ? undefined : await lstat(join(root, path)).catch(() => undefined)
      if (by === undefined || found === undefined) continue
      const changedAtMs = Math.max(found.mtimeMs, found.ctimeMs)
      if (changedAtMs >= sinceMs) yield { path, by, changedAtMs, isExecutable: (found.mode & 0o111) !== 0 }
    }
  }
}

function isEntered(directory: string, name: string): boolean {
  const last = directory.slice(directory.lastIndexOf('/') + 1)
  return IN_PART[last]?.(name) ?? true
}

async function entries(directory: string): Promise<Dirent[]> {
  try {
    const all: Dirent[] = []
    for await (const entry of await opendir(directory)) all.push(entry)
    return all.sort((one, other) => (one.name < other.name ? -1 : 1))
  } catch {
    // It has gone, or may not be read.
    return []
  }
}
