import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { root, stampDir } from './paths.mjs'

/** Every file below the given paths (files or folders, relative to the root), sorted. */
function listFiles(paths) {
  const files = []
  const visit = (path) => {
    let entries
    try {
      entries = readdirSync(path, { withFileTypes: true })
    } catch (error) {
      if (error.code === 'ENOTDIR') files.push(path)
      else if (error.code !== 'ENOENT') throw error
      return
    }
    for (const entry of entries) {
      if (entry.name === 'target' || entry.name === 'node_modules') continue
      const child = join(path, entry.name)
      if (entry.isDirectory()) visit(child)
      else if (entry.isFile()) files.push(child)
    }
  }
  for (const path of paths) visit(join(root, path))
  return files.sort()
}

/** One hash over the names and contents of the given files and folders. */
export function hashInputs(paths, accept = () => true) {
  const hash = createHash('sha256')
  for (const file of listFiles(paths)) {
    const name = relative(root, file)
    if (!accept(name)) continue
    const content = readFileSync(file)
    hash.update(`${name}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

export function readStamp(name) {
  try {
    return readFileSync(join(stampDir, name), 'utf8')
  } catch {
    return undefined
  }
}

export function writeStamp(name, value) {
  const file = join(stampDir, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, value)
}

export function clearStamp(name) {
  rmSync(join(stampDir, name), { force: true })
}
