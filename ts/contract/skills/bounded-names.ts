import { opendir } from 'node:fs/promises'

/** A directory with more entries holds no skills that anybody has made. */
const MAX_ENTRIES = 10_000

/**
 * The names in a directory, in no order; of a very large one, some of them. A command may have made the directory, and
 * `readdir` would hold all of its names in memory.
 *
 * @throws {Error} as `opendir`.
 */
export async function boundedNames(directory: string): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of await opendir(directory)) {
    names.push(name)
    if (names.length >= MAX_ENTRIES) break
  }
  return names
}
