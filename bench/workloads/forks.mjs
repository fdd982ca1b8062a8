import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { createTools, openFork } from 'toolwright'

const run = promisify(execFile)
/** How many files are applied. */
const APPLIED = 200
/** How many files are written for the first time. */
const WRITTEN = 100
/** How many files a directory has that is renamed. */
const RENAMED = 1_000

/** A copy of a corpus that is a repository with everything committed, and a place for forks and copies. */
async function scene({ corpus }) {
  const place = mkdtempSync(join(tmpdir(), 'bench-forks-'))
  process.once('exit', () => rmSync(place, { recursive: true, force: true }))
  const rootDir = join(place, 'project')
  cpSync(corpus('medium'), rootDir, { recursive: true, preserveTimestamps: true })
  const git = (...args) =>
    run('git', ['-C', rootDir, '-c', 'user.name=bench', '-c', 'user.email=bench@example.com', ...args], { maxBuffer: 1 << 26 })
  await git('init', '-q')
  // It would go on beside what is timed.
  await git('config', 'gc.auto', '0')
  await git('add', '-Af')
  await git('commit', '-qm', 'all')
  return { place, rootDir, git }
}

/** Only the work is timed, and not what is left of it. */
const timed = (work, after) => ({
  async run() {
    const start = performance.now()
    const made = await work()
    const ms = performance.now() - start
    await after(made)
    return ms
  },
})

/** A place to work in: a fork, a work tree, a copy. */
async function making(stage) {
  const { place, rootDir, git } = await scene(stage)
  let round = 0
  const next = () => join(place, `copy-${(round += 1)}`)
  const copy = (...options) =>
    timed(
      async () => {
        const to = next()
        await run('cp', [...options, rootDir, to])
        return to
      },
      (to) => rmSync(to, { recursive: true }),
    )
  return {
    ours: timed(
      () => openFork({ rootDir, store: join(place, 'forks') }),
      (fork) => fork.discard(),
    ),
    git: timed(
      async () => {
        const to = next()
        await git('worktree', 'add', '-q', '--detach', to)
        return to
      },
      (to) => git('worktree', 'remove', '--force', to),
    ),
    copy: copy('-a'),
    reflink: copy('-a', '--reflink=auto'),
  }
}

/** Changes of many files, made real. */
async function applying(stage) {
  const { place, rootDir } = await scene(stage)
  for (let number = 0; number < APPLIED; number += 1) writeFileSync(join(rootDir, `applied-${number}`), '0')
  let round = 0
  return {
    ours: {
      async run() {
        await using fork = await openFork({ rootDir, store: join(place, 'forks') })
        round += 1
        const line = `for i in $(seq 0 ${APPLIED - 1}); do echo ${round} > applied-$i; done`
        await createTools({ rootDir: fork }).bash.execute({ cmd: 'sh', args: ['-c', line] })
        const start = performance.now()
        const { applied } = await fork.apply()
        const ms = performance.now() - start
        assert.equal(applied.length, APPLIED)
        assert.equal(readFileSync(join(rootDir, 'applied-0'), 'utf8'), `${round}\n`)
        return ms
      },
    },
  }
}

/** First writes to files of the directory in a new fork, for each of them, beside the same in the directory. */
async function firstWrites(stage) {
  const { place, rootDir } = await scene(stage)
  const files = Array.from({ length: WRITTEN }, (_, number) => `written-${number}`)
  const reset = () => {
    for (const file of files) writeFileSync(join(rootDir, file), 'x'.repeat(4096))
  }
  const writeAll = async (root) => {
    const { write } = createTools({ rootDir: root })
    const start = performance.now()
    for (const path of files) await write.execute({ path, content: 'written\n' })
    return (performance.now() - start) / WRITTEN
  }
  return {
    ours: {
      async run() {
        reset()
        const fork = await openFork({ rootDir, store: join(place, 'forks') })
        const ms = await writeAll(fork)
        assert.equal((await fork.status()).changes.length, WRITTEN)
        await fork.discard()
        return ms
      },
    },
    base: {
      run() {
        reset()
        return writeAll(rootDir)
      },
    },
  }
}

/** A day's command in a new fork, beside the same in the directory. */
async function working({ files, first, command: [cmd, ...args] }) {
  const place = mkdtempSync(join(tmpdir(), 'bench-forks-'))
  process.once('exit', () => rmSync(place, { recursive: true, force: true }))
  const rootDir = join(place, 'project')
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(rootDir, path)), { recursive: true })
    writeFileSync(join(rootDir, path), content)
  }
  let round = 0
  const work = async (root) => {
    const { bash, write } = createTools({ rootDir: root, toolTimeoutMs: 120_000 })
    round += 1
    await write.execute({ path: first.path, content: first.content(round) })
    const start = performance.now()
    await bash.execute({ cmd, args })
    return performance.now() - start
  }
  // From here on only what has changed is built.
  await work(rootDir)
  return {
    ours: {
      async run() {
        const fork = await openFork({ rootDir, store: join(place, 'forks') })
        await createTools({ rootDir: fork }).bash.execute({ cmd: 'true' })
        const ms = await work(fork)
        await fork.discard()
        return ms
      },
    },
    base: { run: () => work(rootDir) },
  }
}

const numbered = (count, entry) => Object.fromEntries(Array.from({ length: count }, (_, number) => entry(number)))

const npmTest = () =>
  working({
    files: {
      'package.json': JSON.stringify({ name: 'tested', type: 'module', scripts: { test: 'node --test' } }),
      // Without it npm looks for a newer npm once in each sandbox, and finds no network.
      '.npmrc': 'update-notifier=false\n',
      ...numbered(200, (number) => [`src/sum-${number}.js`, `export const sum = (a, b) => a + b + ${number}\n`]),
      ...numbered(8, (number) => [
        `test/sum-${number}.test.js`,
        `import assert from 'node:assert'\nimport test from 'node:test'\n` +
          `for (let at = ${number}; at < 200; at += 8) {\n` +
          `  const { sum } = await import(\`../src/sum-\${at}.js\`)\n` +
          `  test('sum ' + at, () => assert.equal(sum(1, 2), 3 + at))\n}\n`,
      ]),
    },
    first: { path: 'src/changed.js', content: (round) => `export const round = ${round}\n` },
    command: ['npm', 'test'],
  })

const cargoBuild = () =>
  working({
    files: {
      'Cargo.toml': '[package]\nname = "built"\nversion = "0.1.0"\nedition = "2021"\n',
      ...numbered(60, (number) => [
        `src/part_${number}.rs`,
        Array.from({ length: 20 }, (_, at) => `pub fn sum_${at}(a: &[u64]) -> u64 {\n    a.iter().map(|it| it + ${at}).sum()\n}\n`).join(
          '',
        ),
      ]),
    },
    first: {
      path: 'src/main.rs',
      content: (round) =>
        `${Array.from({ length: 60 }, (_, at) => `mod part_${at};\n`).join('')}fn main() {\n` +
        `${Array.from({ length: 60 }, (_, at) => `    println!("{}", part_${at}::sum_${at % 20}(&[${round}]));\n`).join('')}}\n`,
    },
    command: ['cargo', 'build', '--offline', '--quiet'],
  })

/** A directory of the base that a command renames in a fork. */
async function renaming(stage) {
  const { place, rootDir } = await scene(stage)
  mkdirSync(join(rootDir, 'renamed'))
  for (let number = 0; number < RENAMED; number += 1) writeFileSync(join(rootDir, 'renamed', `file-${number}`), 'x'.repeat(4096))
  return {
    ours: {
      async run() {
        const fork = await openFork({ rootDir, store: join(place, 'forks') })
        const { bash } = createTools({ rootDir: fork })
        await bash.execute({ cmd: 'true' })
        const start = performance.now()
        await bash.execute({ cmd: 'mv', args: ['renamed', 'moved'] })
        const ms = performance.now() - start
        await fork.discard()
        return ms
      },
    },
  }
}

const selfTimed = true
const effort = {
  quick: { rounds: 5, batch: 1, budgetMs: 5_000, selfTimed },
  full: { rounds: 15, batch: 1, budgetMs: 60_000, selfTimed },
}

export const workloads = [
  { id: 'fork-15k', effort, contenders: making },
  { id: 'fork-first-write', effort, contenders: firstWrites },
  { id: 'fork-npm-test', effort, contenders: npmTest },
  { id: 'fork-cargo-build', effort, contenders: cargoBuild },
  { id: 'fork-rename', effort, contenders: renaming },
  { id: 'fork-apply', effort, contenders: applying },
]
