import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from '../setup/paths.mjs'

/** Not written here: installed, built, or git's own. */
const SKIPPED = new Set(['node_modules', 'target', 'dist', 'coverage', '.git', '.cache'])

/** Every file and folder of the repository, as paths relative to its root. */
export function listTree() {
  const files = []
  const folders = []
  const visit = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (SKIPPED.has(entry.name)) continue
      const path = join(folder, entry.name)
      const name = relative(root, path)
      if (entry.isDirectory()) {
        folders.push(name)
        visit(path)
      } else if (entry.isFile()) files.push(name)
    }
  }
  visit(root)
  return { files: files.sort(), folders: folders.sort() }
}

/** Prints what was found, sets the exit code, and leaves the rest to the caller. */
export function report(title, problems) {
  for (const problem of problems) console.error(problem)
  console.error(`${title}: ${problems.length === 0 ? 'ok' : `${problems.length} to fix`}`)
  process.exitCode = problems.length === 0 ? 0 : 1
}
