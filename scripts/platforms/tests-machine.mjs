// The tests of the crates on another processor: in a machine, for there each test's own processes and files are real.
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from '../setup/paths.mjs'
import { countResults } from '../test/cargo.mjs'
import { addCounts, noCounts } from '../test/counts.mjs'
import { buildTests } from './build.mjs'
import { cache } from './cache.mjs'
import { download, unpack } from './debian.mjs'
import { initialFileSystem, systemFolder } from './image.mjs'

/** The crates below the sandbox. */
const CRATES = ['patch', 'policy', 'fs', 'search', 'journal', 'sqlite', 'checkpoints', 'thread-store', 'process'].map(
  (name) => `toolwright-${name}`,
)
/** Of busybox, besides those of every machine. */
const PROGRAMS = ['dd', 'od', 'setpriv', 'unshare', 'yes']
const guest = fileURLToPath(new URL('tests', import.meta.url))

/** Debian's static bash, with which the rules for commands are compared. */
function bash({ architecture }) {
  const folder = join(cache, 'unpacked', `bash-${architecture}`)
  if (!existsSync(folder)) unpack(download('trixie', architecture, ['bash-static']), folder)
  return ['usr/bin', 'bin'].map((name) => join(folder, name, 'bash-static')).find((file) => existsSync(file))
}

/** The first file system of the machine. */
export function testsFileSystem(one) {
  const folder = systemFolder({ ...one, platform: `tests-${one.platform}` })
  for (const name of PROGRAMS.filter((program) => !existsSync(join(folder, 'bin', program))))
    symlinkSync('busybox', join(folder, 'bin', name))
  copyFileSync(bash(one), join(folder, 'bin/bash'))
  // By it a process tells its own machine from another.
  writeFileSync(join(folder, 'etc/machine-id'), `${'0123456789abcdef'.repeat(2)}\n`)
  copyFileSync(join(guest, 'init'), join(folder, 'init'))
  chmodSync(join(folder, 'init'), 0o755)
  const tests = join(folder, 'tests')
  mkdirSync(join(tests, 'programs'), { recursive: true })
  copyFileSync(join(guest, 'run.mjs'), join(tests, 'run.mjs'))
  cpSync(join(root, 'crates'), join(tests, 'crates'), { recursive: true })
  const programs = buildTests(one, CRATES).map(({ executable, manifest, name }) => {
    copyFileSync(executable, join(tests, 'programs', basename(executable)))
    return { name: `${basename(dirname(manifest))} ${name}`, file: basename(executable), folder: dirname(manifest) }
  })
  writeFileSync(join(tests, 'programs.json'), JSON.stringify({ sources: join(root, 'crates'), programs }))
  return initialFileSystem(folder)
}

/** What the machine has printed, as counts and problems. */
export function readTests(log) {
  const results = [...log.matchAll(/^TESTS (\{.*\})\r?$/gmu)].map(([, json]) => JSON.parse(json))
  const [, all] = /^TESTS-END (\d+)\r?$/mu.exec(log) ?? []
  if (Number(all) !== results.length) throw new Error(`${results.length} programs of ${all ?? 'all'} have a result: ${log.slice(-300)}`)
  let counts = noCounts()
  const problems = []
  for (const { name, summary, failed, ended, told } of results) {
    const own = countResults(summary)
    counts = addCounts(counts, own)
    for (const { test, why } of failed) problems.push(`${name}: ${test}: ${why}`)
    if (ended !== 0 && own.failed === 0) {
      counts.failed += 1
      problems.push(`${name} ended with ${ended}: ${told}`)
    }
  }
  return { counts, problems }
}
