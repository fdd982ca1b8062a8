import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openCheckpoints } from 'toolwright'

const run = promisify(execFile)
/** How many files a call changes. */
const CHANGED = 3
const RESTORED = 100

/** A copy of a corpus that may be changed, its checkpoints, and a shadow repository with a private index beside it. */
async function scene({ corpus }, size) {
  const base = mkdtempSync(join(tmpdir(), 'bench-checkpoints-'))
  process.once('exit', () => rmSync(base, { recursive: true, force: true }))
  const folder = join(base, 'project')
  cpSync(corpus(size), folder, { recursive: true, preserveTimestamps: true })
  const git = await shadow(folder, join(base, 'shadow'))
  const checkpoints = await openCheckpoints(folder, { store: join(base, 'store') })
  return { base, folder, git, checkpoints, files: someFiles(folder, RESTORED) }
}

async function shadow(folder, directory) {
  const env = { ...process.env, GIT_DIR: directory, GIT_WORK_TREE: folder, GIT_INDEX_FILE: join(directory, 'private-index') }
  const git = async (...args) => (await run('git', args, { cwd: folder, env, maxBuffer: 1 << 26 })).stdout.trim()
  await git('init', '-q')
  return git
}

/** Files of the corpus, in the order of their paths. */
function someFiles(folder, count) {
  const found = []
  const visit = (at) => {
    for (const name of readdirSync(at).sort()) {
      if (found.length >= count || ['.git', 'node_modules', 'target', '.hidden', '.gitignore'].includes(name)) continue
      const path = join(at, name)
      if (statSync(path).isDirectory()) visit(path)
      else found.push(path)
    }
  }
  visit(folder)
  return found
}

/** Only the work is timed, and not what it needs before. */
const timed = (prepare, work, check) => ({
  async run() {
    await prepare()
    const start = performance.now()
    const answer = await work()
    const ms = performance.now() - start
    check(answer)
    return ms
  },
})

const nothing = () => undefined
const isTree = (answer) => assert.match(answer, /^[0-9a-f]{40}$/u)

/** The first checkpoint of a tree, with an empty store. */
function first(size) {
  return async (stage) => {
    const { base, folder } = await scene(stage, size)
    let round = 0
    return {
      ours: timed(
        nothing,
        async () => {
          const checkpoints = await openCheckpoints(folder, { store: join(base, `store-${(round += 1)}`) })
          const { entries } = await checkpoints.checkpoint()
          await checkpoints.close()
          return entries
        },
        (entries) => assert.ok(entries > 1_000, 'too few entries'),
      ),
      git: timed(
        nothing,
        async () => {
          const git = await shadow(folder, join(base, `shadow-${(round += 1)}`))
          await git('add', '-A')
          return git('write-tree')
        },
        isTree,
      ),
    }
  }
}

/** A checkpoint after some files have changed. */
function next(size, changed) {
  return async (stage) => {
    const { folder, git, checkpoints, files } = await scene(stage, size)
    await checkpoints.checkpoint()
    await git('add', '-A')
    let round = 0
    const change = () => {
      round += 1
      for (const file of files.slice(0, changed)) writeFileSync(file, `round ${round} of ${folder}\n`.repeat(50))
    }
    return {
      ours: timed(
        change,
        async () => (await checkpoints.checkpoint()).changed.length,
        (count) => assert.equal(count, changed),
      ),
      git: timed(
        change,
        async () => {
          await git('add', '-A')
          return git('write-tree')
        },
        isTree,
      ),
    }
  }
}

/** Bringing files back. Both begin from files that were changed and are known to be. */
function restoring(size) {
  return async (stage) => {
    const { git, checkpoints, files } = await scene(stage, size)
    const { id } = await checkpoints.checkpoint()
    await git('add', '-A')
    const tree = await git('write-tree')
    let round = 0
    const change = () => {
      round += 1
      for (const file of files) writeFileSync(file, `round ${round}\n`.repeat(50))
    }
    return {
      ours: timed(
        async () => {
          change()
          await checkpoints.checkpoint()
        },
        async () => (await checkpoints.restore(id)).changes.length,
        (count) => assert.equal(count, RESTORED),
      ),
      git: timed(
        change,
        () => git('read-tree', '--reset', '-u', tree),
        (answer) => assert.equal(answer, ''),
      ),
    }
  }
}

const selfTimed = true
const effort = {
  quick: { rounds: 5, batch: 1, budgetMs: 2_000, selfTimed },
  full: { rounds: 30, batch: 1, budgetMs: 20_000, selfTimed },
}
const few = { quick: { rounds: 3, batch: 1, budgetMs: 2_000, selfTimed }, full: { rounds: 5, batch: 1, budgetMs: 30_000, selfTimed } }

export const workloads = [
  { id: 'checkpoint-15k-first', effort: few, contenders: first('medium') },
  { id: 'checkpoint-15k-same', effort, contenders: next('medium', 0) },
  { id: 'checkpoint-15k-next', effort, contenders: next('medium', CHANGED) },
  { id: 'checkpoint-78k-next', effort, contenders: next('large', CHANGED) },
  { id: 'checkpoint-restore', effort, contenders: restoring('medium') },
]
