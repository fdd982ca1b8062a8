// Commits of a repository as files before and after, and their diffs as hunks.
import { execFileSync } from 'node:child_process'

const MAX = 1 << 28
/** Larger changes are those of programs: formatters, vendored code. */
const MAX_FILES = 20
const MAX_FILE_BYTES = 400_000
const MAX_DIFF_BYTES = 400_000

/** @typedef {{ sign: ' ' | '-' | '+', text: string, hasEnd: boolean }} Line */
/** @typedef {{ header: string, heading: string, oldStart: number, lines: Line[] }} Hunk */
/** @typedef {{ path: string, before: Buffer | undefined, after: Buffer | undefined, hunks: Hunk[], diff: string }} FileChange */
/** @typedef {{ id: string, files: FileChange[], diff: string }} Commit */

/** Runs git in a repository, without the settings of whoever runs it. */
const git = (repository, ...args) =>
  execFileSync('git', ['-c', 'core.quotePath=false', '-c', 'diff.noprefix=false', '-C', repository, ...args], {
    maxBuffer: MAX,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null', GIT_NO_LAZY_FETCH: '1' },
  })

/** Numbers that a seed gives, from 0 to 1. */
export function randomOf(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * Some commits of a repository that change the text of a few files, in random order.
 *
 * @param {string} repository @param {number} count @param {() => number} random
 * @returns {Generator<Commit>}
 */
export function* commitsOf(repository, count, random) {
  const ids = git(repository, 'rev-list', '--no-merges', '--min-parents=1', 'HEAD').toString().trim().split('\n')
  for (let found = 0; found < count && ids.length > 0;) {
    const [id = ''] = ids.splice(Math.floor(random() * ids.length), 1)
    const commit = commitOf(repository, id)
    if (commit === undefined) continue
    found += 1
    yield commit
  }
}

/** A commit, if all of it is text in ordinary files. */
function commitOf(repository, id) {
  const raw = git(repository, 'diff-tree', '-r', '--no-renames', '-z', `${id}^`, id).toString().split('\0')
  const files = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [, oldMode, newMode, oldBlob, newBlob] = /^:(\d+) (\d+) (\w+) (\w+)/u.exec(raw[at] ?? '') ?? []
    const path = raw[at + 1] ?? ''
    const isFile = (mode) => mode === '000000' || mode === '100644' || mode === '100755'
    if (!isFile(oldMode) || !isFile(newMode) || path.includes('"') || path.includes('\uFFFD')) return undefined
    // A mode is not a part of the text.
    if (oldMode !== newMode && oldMode !== '000000' && newMode !== '000000') return undefined
    if (newMode === '100755' && oldMode === '000000') return undefined
    const blob = (name) => (/^0+$/u.test(name) ? undefined : git(repository, 'cat-file', 'blob', name))
    const [before, after] = [blob(oldBlob), blob(newBlob)]
    for (const bytes of [before, after]) if (bytes && (bytes.length > MAX_FILE_BYTES || bytes.includes(0))) return undefined
    const diff = git(
      repository,
      'diff',
      '--no-renames',
      '--no-ext-diff',
      '--no-textconv',
      '--text',
      `${id}^`,
      id,
      '--',
      `:(literal)${path}`,
    ).toString()
    files.push({ path, before, after, hunks: hunksOf(diff), diff })
    if (files.length > MAX_FILES) return undefined
  }
  const diff = files.map((file) => file.diff).join('')
  const isText = files.length > 0 && diff.length <= MAX_DIFF_BYTES && files.every((file) => file.hunks.length > 0)
  return isText ? { id, files, diff } : undefined
}

/** The hunks of the diff of one file. */
export function hunksOf(diff) {
  const hunks = []
  for (const line of diff.split('\n').slice(0, -1)) {
    const [header, oldStart, heading = ''] = /^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@ ?(.*)$/u.exec(line) ?? []
    const hunk = hunks.at(-1)
    if (header !== undefined) hunks.push({ header, heading, oldStart: Number(oldStart), lines: [] })
    else if (hunk === undefined) continue
    else if (line.startsWith('\\')) hunk.lines.at(-1).hasEnd = false
    else hunk.lines.push({ sign: line[0], text: line.slice(1), hasEnd: true })
  }
  return hunks
}
