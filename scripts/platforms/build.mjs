// The addons of other platforms, built with Debian's compiler and linked by zig. An addon is built again when a source of it changes.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { INPUTS, isInput } from '../setup/native-addon.mjs'
import { root } from '../setup/paths.mjs'
import { hashInputs } from '../setup/stamp.mjs'
import { problemsOf } from './binary.mjs'
import { cache } from './cache.mjs'
import { isLocal, packageOf } from './packages.mjs'
import { crossCompiler, toolchain } from './toolchain.mjs'

const LIMIT_MS = 40 * 60_000
/** The oldest glibc that the packages promise. */
const GLIBC = '.2.28'
/** With the tests of crates. */
export const sourcesOfAll = () => hashInputs(INPUTS)
export const sourcesOfAddon = () => hashInputs(INPUTS, isInput)

/** The addon of a package, and what is wrong with it. */
export function buildAddon({ platform, os, libc, target }) {
  const file = join(cache, 'addons', `toolwright.${platform}.node`)
  once(`addons/${platform}`, sourcesOfAddon(), () => {
    cargo(`build-${platform}`, target, [
      'zigbuild',
      '--release',
      '--package',
      'toolwright',
      '--target',
      target + (libc === 'gnu' ? GLIBC : ''),
    ])
    copyFileSync(join(cache, 'target', target, 'release', os === 'darwin' ? 'libtoolwright.dylib' : 'libtoolwright.so'), file)
  })
  return { file, problems: problemsOf(readFileSync(file), { os, libc, target }) }
}

/** Whether the addon of a package is that of the sources. */
export const isBuilt = (one) => isLocal(one) || isDone(`addons/${one.platform}`, sourcesOfAddon())

/**
 * Checks the types of everything that can be built for a target: every crate, the addon, and all tests.
 *
 * The profile is that of the addon, which has compiled the macros already.
 */
export function checkTypes({ platform, target }) {
  once(`types/${platform}`, sourcesOfAll(), () => {
    const check = ['check', '--release', '--workspace', '--keep-going', '--target', target]
    const denied = { CARGO_BUILD_WARNINGS: 'deny' }
    cargo(`types-${platform}`, target, check, denied)
    // The addon has no tests of its own.
    cargo(`types-tests-${platform}`, target, [...check, '--exclude', 'toolwright', '--all-targets'], denied)
  })
}

/** The programs of the tests of crates, as cargo lists them. */
export function buildTests({ platform, target, libc }, crates) {
  const list = join(cache, 'tests', `${platform}.list`)
  once(`tests/${platform}`, `${sourcesOfAll()} ${crates.join(' ')}`, () => {
    const selected = crates.flatMap((name) => ['--package', name])
    const options = [
      '--release',
      '--no-run',
      '--message-format=json-render-diagnostics',
      '--target',
      target + (libc === 'gnu' ? GLIBC : ''),
    ]
    const log = cargo(`tests-${platform}`, target, ['test', ...selected, ...options])
    writeFileSync(list, log)
  })
  const isProgram = ({ reason, executable, profile, target: { kind } = {} }) =>
    reason === 'compiler-artifact' && executable !== null && profile.test && !kind.includes('bench')
  return readFileSync(list, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(isProgram)
    .map(({ executable, manifest_path: manifest, target: { name } }) => ({ executable, manifest, name }))
}

/** The programs of crates/attacks for a processor, static: they run with any C library. */
export function buildAttacks({ architecture }) {
  const { target } = packageOf(`linux-${architecture}-gnu`)
  const folder = join(cache, 'attacks')
  once(`attacks/${target}`, hashInputs(['crates/attacks', 'Cargo.lock']), () => {
    const options = { RUSTFLAGS: '-C target-feature=+crt-static -C strip=symbols', CARGO_TARGET_DIR: join(folder, 'target') }
    const own = architecture === process.arch ? { PATH: process.env.PATH } : crossCompiler()
    run(`attacks-${architecture}`, own.CARGO ?? 'cargo', ['build', '--release', '--package', 'toolwright-attacks', '--target', target], {
      ...own,
      ...options,
    })
    for (const name of ['attack', 'deny']) {
      mkdirSync(join(folder, architecture), { recursive: true })
      copyFileSync(join(folder, 'target', target, 'release', name), join(folder, architecture, name))
    }
  })
  return ['attack', 'deny'].map((name) => join(folder, architecture, name))
}

/** Runs cargo for a target, and returns what it printed. */
const cargo = (name, target, args, env = {}) => run(name, 'cargo-zigbuild', args, { ...toolchain(target), ...env })

function run(name, program, args, env) {
  mkdirSync(join(cache, 'logs'), { recursive: true })
  const log = join(cache, 'logs', `${name}.log`)
  const options = { cwd: root, env: { ...process.env, ...env }, timeout: LIMIT_MS, maxBuffer: 2 ** 28 }
  const { status, signal, error, stdout } = spawnSync(program, [...args, '--locked'], {
    ...options,
    stdio: ['ignore', 'pipe', openSync(log, 'w')],
  })
  if (error) throw error
  if (status !== 0) {
    const first = readFileSync(log, 'utf8')
      .split('\n')
      .find((line) => /^(?:error|warning: unused)/u.test(line))
    throw new Error(`${args[0]} ended with ${signal ?? status}: ${first ?? ''}; see ${log}`)
  }
  return String(stdout)
}

const stampOf = (name) => join(cache, `${name}.stamp`)
const isDone = (name, inputs) => existsSync(stampOf(name)) && readFileSync(stampOf(name), 'utf8') === inputs

/** Does what was not done with the same inputs. */
function once(name, inputs, work) {
  if (isDone(name, inputs)) return
  const stamp = stampOf(name)
  mkdirSync(join(stamp, '..'), { recursive: true })
  work()
  writeFileSync(stamp, inputs)
}
