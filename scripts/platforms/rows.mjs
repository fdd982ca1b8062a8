// What there is to run, in the order in which it fails soonest.
import { spawnSync } from 'node:child_process'
import { root } from '../setup/paths.mjs'
import { hashInputs } from '../setup/stamp.mjs'
import { countResults } from '../test/cargo.mjs'
import { addonOf, contentsOf } from './application.mjs'
import { judgeAttacks, readAttacks } from './attacks.mjs'
import { checkTypes, sourcesOfAddon, sourcesOfAll } from './build.mjs'
import { withContainers } from './container.mjs'
import { kernel } from './debian.mjs'
import { runSuites, runTools } from './emulation.mjs'
import { expected } from './expected.mjs'
import { initialFileSystem, rootFolder, SOURCES_OF_ATTACKS } from './image.mjs'
import { boot } from './machine.mjs'
import { PACKAGES, packageOf } from './packages.mjs'
import { profileWithNamespaces, RULES } from './profile.mjs'
import { judge, read } from './results.mjs'
import { readTests, testsFileSystem } from './tests-machine.mjs'

const LOCAL = 'linux-x64-gnu'
const MACHINES = [
  { name: 'linux-5.10', suite: 'bullseye' },
  { name: 'linux-6.1', suite: 'bookworm' },
  { name: 'linux-6.12', suite: 'trixie' },
  { name: 'linux-6.12-no-landlock', suite: 'trixie', parameters: 'lsm=capability,yama' },
  { name: 'linux-6.12-no-cgroups', suite: 'trixie', parameters: 'cgroup_disable=cpu,memory,pids,io cgroups=none' },
  { name: 'linux-7', suite: 'sid' },
  { name: 'linux-6.12-musl', suite: 'trixie', platform: 'linux-x64-musl' },
  { name: 'linux-6.12-arm64', suite: 'trixie', platform: 'linux-arm64-gnu' },
  { name: 'linux-6.12-arm64-musl', suite: 'trixie', platform: 'linux-arm64-musl' },
]
const CONTAINERS = [
  { mode: 'root', options: [] },
  { mode: 'user', options: ['--user', '1000', '--security-opt', 'no-new-privileges'] },
  {
    mode: 'user, no capabilities, read-only',
    options: ['--user', '1000', '--cap-drop', 'ALL', '--read-only', '--tmpfs', '/tmp:exec,mode=1777'],
  },
  { mode: 'user, namespaces allowed', options: ['--user', '1000'], hasNamespaces: true },
  {
    mode: 'user, namespaces and /proc',
    options: ['--user', '1000', '--security-opt', 'systempaths=unconfined'],
    hasNamespaces: true,
  },
  { mode: 'user, seccomp unconfined', options: ['--user', '1000', '--security-opt', 'seccomp=unconfined'] },
]

const own = (...files) => hashInputs(['guest', ...files].map((name) => `scripts/platforms/${name}`))

/** The sum of checks, and what is wrong. */
function judged(place, results) {
  const each = results.map((result) => judge(place, result, expected[`${place}: ${result.mode}`]))
  return {
    checks: each.reduce((sum, { checks }) => sum + checks, 0),
    problems: each.flatMap(({ problems }, index) => problems.map((problem) => `${results[index].mode}: ${problem}`)),
    promises: results.map((result) => ({ place, ...result })),
  }
}

/** Of suites: a test that was skipped is no check. */
const counted = ({ counts: { passed, failed, skipped }, problems }) => ({ checks: passed + failed, failed, skipped, problems })

/** Machines of a package have the same files, which are made once in a run. */
const made = new Map()
const filesOf = async (platform) => {
  if (!made.has(platform)) made.set(platform, rootFolder(packageOf(platform)).then(initialFileSystem))
  return made.get(platform)
}

const contents = (platform) => contentsOf(addonOf(packageOf(platform)).file)

const builds = PACKAGES.map((one) => ({
  name: `build ${one.platform}`,
  platform: one.platform,
  isBuild: true,
  inputs: () => [sourcesOfAddon()],
  run: () => addonOf(one),
  judge: ({ problems }) => ({ checks: 1, problems }),
}))

/** A machine, and what it runs. */
function machine({ name, suite, parameters = '', platform = LOCAL }) {
  const { architecture } = packageOf(platform)
  const image = kernel(suite, architecture === 'x64' ? 'amd64' : architecture)
  const start = async (log, more) =>
    boot(log, { architecture, kernel: image, files: await filesOf(platform), parameters: `${parameters}${more}` })
  return { image, start, name }
}

const machines = MACHINES.map((one) => {
  const { name, platform = LOCAL } = one
  return {
    name,
    platform,
    isMachine: true,
    inputs: () => [contents(platform), machine(one).image, own('image.mjs', 'machine.mjs')],
    run: async () => read(await machine(one).start(name, '')),
    judge: (results) => judged(name, results),
  }
})

/** Another C library and no control groups are the same to them: what holds is the kernel's. */
const hasAttacks = ({ name }) => !/-musl$|-no-cgroups$/u.test(name)

/** The attacks of the confinement suites, which take some ten times as long as the promises. */
const attacks = MACHINES.filter(hasAttacks).map((one) => {
  const { name, platform = LOCAL } = one
  return {
    name: `attacks ${name}`,
    platform,
    isMachine: true,
    inputs: () => [contents(platform), machine(one).image, own('image.mjs', 'machine.mjs'), hashInputs(SOURCES_OF_ATTACKS)],
    run: async () => readAttacks(await machine(one).start(`attacks-${name}`, ' platforms=attacks')),
    judge: (results) => judgeAttacks(name, results),
  }
})

const docker = {
  name: 'docker',
  platform: LOCAL,
  isRun: true,
  inputs: () => [contents(LOCAL), own('image.mjs', 'container.mjs', 'profile.mjs'), hashInputs([RULES])],
  run: async () => {
    const results = []
    await withContainers(await rootFolder(packageOf(LOCAL)), async (run) => {
      for (const { mode, options, hasNamespaces } of CONTAINERS) {
        const profile = hasNamespaces ? ['--security-opt', `seccomp=${profileWithNamespaces()}`] : []
        results.push(...read(run(mode, [...options, ...profile])))
      }
    })
    return results
  },
  judge: (results) => judged('docker', results),
}

const emulated = ['linux-arm64-gnu', 'linux-arm64-musl'].flatMap((platform) => {
  const one = packageOf(platform)
  const inputs = (...more) => [contents(platform), own('image.mjs', 'emulation.mjs'), ...more]
  return [
    { name: `tools ${platform}`, platform, isRun: true, inputs, run: () => runTools(one), judge: (result) => result },
    {
      name: `suites ${platform}`,
      platform,
      isRun: true,
      inputs: () => inputs(hashInputs(['__test__', 'ts'])),
      run: () => runSuites(one, addonOf(one).file),
      judge: counted,
    },
  ]
})
const arm64 = packageOf('linux-arm64-gnu')
const kernelOfTests = () => kernel('trixie', 'arm64')
const crates = {
  name: `crates ${arm64.platform}`,
  platform: arm64.platform,
  isMachine: true,
  inputs: () => [
    sourcesOfAll(),
    kernelOfTests(),
    hashInputs(['image.mjs', 'machine.mjs', 'tests-machine.mjs', 'tests'].map((name) => `scripts/platforms/${name}`)),
  ],
  run: async () =>
    readTests(await boot('crates', { architecture: arm64.architecture, kernel: kernelOfTests(), files: testsFileSystem(arm64) })),
  judge: counted,
}

const types = PACKAGES.filter(({ os }) => os === 'darwin').map((one) => ({
  name: `types ${one.platform}`,
  platform: one.platform,
  inputs: () => [sourcesOfAll()],
  run: () => checkTypes(one),
  judge: () => ({ checks: 1, problems: [] }),
}))

/** The rules for macOS are a text, which is tested on any system. */
const profiles = {
  name: 'profiles of macOS',
  platform: 'darwin-arm64',
  alsoFor: 'darwin-x64',
  inputs: () => [sourcesOfAll()],
  run: () => {
    const { stdout, stderr, status } = spawnSync('cargo', ['test', '--package', 'toolwright-sandbox', '--test', 'seatbelt'], {
      cwd: root,
      encoding: 'utf8',
      env: process.env,
    })
    const counts = countResults(stdout)
    const problems = status === 0 ? [] : [`cargo test ended with ${status}: ${stderr.trim().split('\n').at(-1)}`]
    return { counts, problems }
  },
  judge: counted,
}

/** With these the whole takes longer than 25 minutes on two processors. They run with `--all`, or when they are named. */
const isLong = ({ name }) => /^(?:attacks|suites|crates) |-no-cgroups$/u.test(name)

export const ROWS = [profiles, ...builds, ...types, ...emulated, crates, ...machines, ...attacks, docker].map((row) => ({
  ...row,
  isLong: isLong(row),
}))
