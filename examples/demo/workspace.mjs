import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { devNull, tmpdir } from 'node:os'
import { basename, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'
import { UsageError } from './options.mjs'

const BUNDLED = fileURLToPath(new URL('project', import.meta.url))

/** Neither copied into a diff nor looked at for one. */
const NOT_SOURCE = new Set(['.git', 'node_modules'])
const MAX_DIFFED_BYTES = 1_000_000

/**
 * @typedef {object} Workspace
 * @property {string} directory where the agent works
 * @property {string} title for the header
 * @property {() => { text: string, files: string[] }} changes since the workspace was opened
 * @property {() => void} remove deletes a working copy, and only that
 */

/**
 * @param {import('./options.mjs').Options} options
 * @returns {Workspace}
 */
export function openWorkspace({ project, inPlace }) {
  const source = project === undefined ? BUNDLED : resolve(project)
  if (!statSync(source, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`--project ${project} is not a directory`)
  }
  if (inPlace) return opened(realpathSync(source), `${source} (in place)`, () => undefined)

  // The real path: on macOS the temporary directory is reached through a link.
  const parent = mkdtempSync(join(realpathSync(tmpdir()), 'toolwright-demo-'))
  const remove = () => rmSync(parent, { recursive: true, force: true })
  try {
    const directory = join(parent, basename(source))
    cpSync(source, directory, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => basename(path) !== '.git',
    })
    startRepository(directory)
    return opened(directory, `${directory} (a fresh copy)`, remove)
  } catch (error) {
    remove()
    throw error
  }
}

/**
 * @param {string} directory
 * @param {string} title
 * @param {() => void} remove
 * @returns {Workspace}
 */
function opened(directory, title, remove) {
  const before = snapshot(directory)
  return { directory, title, remove, changes: () => compare(before, snapshot(directory)) }
}

/**
 * A repository lets an agent ask `git diff` for what it has done. It is a convenience: without git
 * everything else works the same.
 *
 * @param {string} directory
 */
function startRepository(directory) {
  // The user's own settings may sign commits or run hooks.
  const env = { ...process.env, GIT_CONFIG_GLOBAL: devNull, GIT_CONFIG_NOSYSTEM: '1' }
  const identity = ['-c', 'user.name=toolwright demo', '-c', 'user.email=demo@localhost']
  for (const args of [
    ['init', '-q'],
    ['add', '-A'],
    [...identity, 'commit', '-q', '-m', 'As found'],
  ]) {
    if (spawnSync('git', args, { cwd: directory, env, stdio: 'ignore' }).status !== 0) return
  }
}

/**
 * @param {string} directory
 * @returns {Map<string, Buffer>} the content of every file that a diff could show
 */
function snapshot(directory) {
  const files = new Map()
  const visit = (/** @type {string} */ folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (NOT_SOURCE.has(entry.name)) continue
      const path = join(folder, entry.name)
      if (entry.isDirectory()) visit(path)
      else if (entry.isFile() && statSync(path).size <= MAX_DIFFED_BYTES) {
        files.set(relative(directory, path), readFileSync(path))
      }
    }
  }
  visit(directory)
  return files
}

/**
 * @param {Map<string, Buffer>} before
 * @param {Map<string, Buffer>} after
 */
function compare(before, after) {
  const files = [...new Set([...before.keys(), ...after.keys()])].sort().filter((file) => {
    const [old, now] = [before.get(file), after.get(file)]
    return old === undefined || now === undefined || !old.equals(now)
  })
  const text = files.map((file) => {
    const [old, now] = [before.get(file), after.get(file)]
    if (old?.includes(0) || now?.includes(0)) return `Binary file ${file} differs\n`
    const name = (/** @type {string} */ side, /** @type {Buffer | undefined} */ content) =>
      content === undefined ? '/dev/null' : `${side}/${file}`
    return createTwoFilesPatch(name('a', old), name('b', now), String(old ?? ''), String(now ?? ''), '', '', {
      headerOptions: FILE_HEADERS_ONLY,
    })
  })
  return { files, text: text.join('') }
}
