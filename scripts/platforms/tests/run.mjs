// In a machine: runs the programs of the tests, one after the other, and prints one line for each: TESTS and JSON. The last line says that
// all were run.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname } from 'node:path'

const LIMIT_MS = 15 * 60_000
/** Tests that say how long something may take, which is no rule for a processor in emulation. */
const TIMED = ['a_hundred_thousand_rows_are_listed']
const { sources, programs } = JSON.parse(readFileSync('programs.json', 'utf8'))
// Where the programs were compiled, and look for files of theirs.
mkdirSync(dirname(sources), { recursive: true })
symlinkSync('/tests/crates', sources)
for (const { name, file, folder } of programs) {
  const env = { ...process.env, CARGO_MANIFEST_DIR: folder, PROPTEST_CASES: '8', RUST_BACKTRACE: '0' }
  const { stdout, stderr, status, signal } = spawnSync(
    `/tests/programs/${file}`,
    TIMED.flatMap((test) => ['--skip', test]),
    {
      cwd: folder,
      env,
      encoding: 'utf8',
      timeout: LIMIT_MS,
      maxBuffer: 2 ** 26,
    },
  )
  const failed = [...stdout.matchAll(/^test (.+) \.\.\. FAILED$/gmu)].map(([, test]) => {
    const account = stdout.split(`---- ${test} stdout ----\n`)[1] ?? ''
    return { test, why: account.slice(0, 600).replaceAll(/\s+/gu, ' ').trim().slice(0, 300) }
  })
  const summary = stdout.match(/^test result: .*$/gmu)?.join('\n') ?? ''
  console.log(
    `TESTS ${JSON.stringify({ name, summary, failed, ended: signal ?? status, told: status === 0 ? '' : stderr.trim().slice(-300) })}`,
  )
}
console.log(`TESTS-END ${programs.length}`)
