// Programs of another processor on this kernel (QEMU's user mode): everything but the sandbox, which is a program that the
// kernel would have to run by itself.
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { binDir, root } from '../setup/paths.mjs'
import { countReport } from '../test/vitest.mjs'
import { application } from './application.mjs'
import { cache, Skipped } from './cache.mjs'
import { systemFolder } from './image.mjs'

const EMULATOR = 'qemu-aarch64-static'
const LIMIT_MS = 15 * 60_000
/** The suites that start no command. */
const SUITES = [
  'core/uuid-v7',
  'core/errors',
  'core/native-turns',
  'words/main',
  'toolkit/hostile-arguments',
  'toolkit/argument-shapes',
  'contract/tools',
]
/** A script that starts a program in emulation, with the libraries of its system and no other file of it. */
function emulator(one) {
  try {
    execFileSync(EMULATOR, ['--version'], { stdio: 'ignore' })
  } catch {
    throw new Skipped(`there is no ${EMULATOR}: apt-get install qemu-user-static`)
  }
  const system = systemFolder(one)
  const folder = join(cache, 'emulation', one.platform)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, 'libraries/usr'), { recursive: true })
  symlinkSync(join(system, 'lib'), join(folder, 'libraries/lib'))
  symlinkSync(join(system, 'usr/lib'), join(folder, 'libraries/usr/lib'))
  // The file that tells musl from glibc. This system's own would tell a lie.
  if (one.libc === 'musl') symlinkSync(join(system, 'usr/bin'), join(folder, 'libraries/usr/bin'))
  const script = (name, program) => {
    const file = join(folder, name)
    writeFileSync(file, `#!/bin/sh\nexec ${EMULATOR} -L "${folder}/libraries" ${program}"$@"\n`)
    chmodSync(file, 0o755)
    return file
  }
  return { program: script('run', ''), node: script('node', `"${system}/usr/bin/node" `) }
}

/** What the packed package does there. */
export async function runTools(one) {
  const { node } = emulator(one)
  const folder = await application(one)
  const { stdout, stderr, error } = spawnSync(node, ['tools.mjs'], { cwd: folder, encoding: 'utf8', timeout: LIMIT_MS })
  if (error) throw error
  const [, json] = /^TOOLS (\{.*\})$/mu.exec(stdout) ?? []
  if (json === undefined) throw new Error(`the package did not load: ${(stderr || stdout).trim().slice(-600)}`)
  const { system, passed, failed } = JSON.parse(json)
  const wanted = `${one.os}-${one.architecture}`
  const problems = system === wanted ? failed : [`it ran on ${system}, not on ${wanted}`, ...failed]
  return { checks: passed.length + failed.length, problems }
}

/** Suites of the checkout: vitest runs here, and each test file in emulation. */
export function runSuites(one, addon) {
  const { node } = emulator(one)
  const folder = mkdtempSync(join(tmpdir(), 'toolwright-emulated-'))
  try {
    const report = join(folder, 'report.json')
    const limits = ['--testTimeout=300000', '--hookTimeout=300000']
    const args = ['run', '--project=together', '--maxWorkers=2', ...limits, '--reporter=json', `--outputFile.json=${report}`]
    const { stderr } = spawnSync(
      join(binDir, 'node'),
      [join(root, 'node_modules/vitest/vitest.mjs'), ...args, ...SUITES.map((name) => `__test__/${name}`)],
      {
        cwd: root,
        encoding: 'utf8',
        timeout: LIMIT_MS,
        env: {
          ...process.env,
          NAPI_RS_NATIVE_LIBRARY_PATH: addon,
          TOOLWRIGHT_EMULATED_NODE: node,
          NODE_OPTIONS: `--import=${pathToFileURL(fileURLToPath(new URL('guest/emulated.mjs', import.meta.url)))}`,
        },
      },
    )
    if (!existsSync(report)) throw new Error(`the suites did not end: ${stderr.trim().slice(-600)}`)
    const results = JSON.parse(readFileSync(report, 'utf8'))
    const failures = results.testResults.flatMap(({ name, message, assertionResults }) => [
      ...(assertionResults.length === 0 ? [`${name}: ${message.slice(0, 300)}`] : []),
      ...assertionResults
        .filter(({ status }) => status === 'failed')
        .map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages[0]?.slice(0, 300)}`),
    ])
    return { counts: countReport(results), problems: failures }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
