import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { binDir, root } from './paths.mjs'
import { SetupError } from './setup-error.mjs'

const MINIMUM_NODE = [22, 13]
const MINIMUM_RUST = [1, 88]

/** The first "major.minor" in a program's version text, or undefined when it cannot be run. */
function versionOf(program, args = ['--version']) {
  const { error, status, stdout } = spawnSync(program, args, { cwd: root, encoding: 'utf8' })
  if (error || status !== 0) return undefined
  const match = /(\d+)\.(\d+)/.exec(stdout)
  return match ? [Number(match[1]), Number(match[2])] : undefined
}

const isOlder = (version, minimum) => version[0] < minimum[0] || (version[0] === minimum[0] && version[1] < minimum[1])

export function checkPlatform() {
  const { platform, arch } = process
  if ((platform === 'linux' || platform === 'darwin') && (arch === 'x64' || arch === 'arm64')) return
  throw new SetupError(
    `${platform}-${arch} is not supported: toolwright builds on Linux and macOS, x64 and arm64` +
      (platform === 'win32' ? ' (on Windows, use WSL 2)' : ''),
  )
}

/** The Node that scripts will run under: the installed one, or this one when there is none. */
export function checkRuntime() {
  const installed = join(binDir, 'node')
  const version = existsSync(installed) ? versionOf(installed) : versionOf(process.execPath)
  if (version && !isOlder(version, MINIMUM_NODE)) return
  const minimum = MINIMUM_NODE.join('.')
  throw new SetupError(
    existsSync(installed)
      ? `node_modules/.bin/node does not run here or is older than ${minimum}; delete node_modules and install Node 24 yourself`
      : `Node ${minimum} or newer is needed and ${process.version} is running: npm did not run the install script of the "node" package; run \`npm rebuild node bun\`, or install Node 24 yourself`,
  )
}

export function checkToolchain() {
  const cargo = process.env.CARGO || 'cargo'
  if (!versionOf(cargo)) {
    throw new SetupError('cargo is not on PATH: install Rust from https://rustup.rs, or the distribution packages of cargo and rustc')
  }
  const rust = versionOf(process.env.RUSTC || 'rustc')
  if (!rust) {
    throw new SetupError('rustc does not run: install Rust from https://rustup.rs')
  }
  if (isOlder(rust, MINIMUM_RUST)) {
    throw new SetupError(
      `Rust ${MINIMUM_RUST.join('.')} or newer is needed and ${rust.join('.')} is installed: run \`rustup update\`, or install it from https://rustup.rs`,
    )
  }
  // cargo would say so too, but only after minutes and under a page of linker arguments.
  if (!versionOf(process.env.CC || 'cc')) {
    throw new SetupError(
      'no C compiler (cc) to link with: install gcc or clang (Debian: build-essential, Alpine: build-base, macOS: xcode-select --install)',
    )
  }
}
