import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './paths.mjs'
import { checkToolchain } from './requirements.mjs'
import { run } from './run-command.mjs'
import { SetupError } from './setup-error.mjs'
import { clearStamp, hashInputs, readStamp, writeStamp } from './stamp.mjs'

const STAMP = 'native'
export const INPUTS = ['Cargo.toml', 'Cargo.lock', '.cargo', 'build.rs', 'rust-toolchain.toml', 'src', 'crates']

/** Tests, benches and snapshots of a crate do not end up in the addon. */
export const isInput = (name) => !/^crates\/[^/]+\/(tests|benches|examples)\//.test(name)
const hash = () => `${process.platform}-${process.arch} ${hashInputs(INPUTS, isInput)}`

/** The profile of cargo in which a build was made, or `undefined` if its inputs have changed. */
function builtProfile() {
  const [, profile, inputs] = /^(\w+) ([^]*)$/u.exec(readStamp(STAMP) ?? '') ?? []
  return isBuilt() && inputs === hash() ? profile : undefined
}

function isBuilt() {
  const addon = new RegExp(`^toolwright\\.${process.platform}-${process.arch}.*\\.node$`)
  return existsSync(join(root, 'index.js')) && readdirSync(root).some((name) => addon.test(name))
}

async function build(profile) {
  checkToolchain()
  // Taken first: what is edited during the build is built the next time.
  const inputs = existsSync(join(root, 'Cargo.lock')) ? hash() : undefined
  clearStamp(STAMP)
  const cli = join(root, 'node_modules', '@napi-rs', 'cli', 'dist', 'cli.js')
  const options = ['--platform', '--profile', profile, '--esm', '--js', 'index.js', '--dts', 'index.d.ts']
  const ended = await run('node', [cli, 'build', ...options], { cwd: root, stdio: ['ignore', 'pipe', 2] })
  // Where cargo has given its reasons on stderr, the CLI adds no more than its own stack.
  if (!/Build failed with exit code/.test(ended.stdout)) process.stderr.write(ended.stdout)
  if (ended.code !== 0) throw new SetupError('the native addon did not build; the reason is above')
  // Without a Cargo.lock the build has just written one, which is an input of the next.
  writeStamp(STAMP, `${profile} ${inputs ?? hash()}`)
}

export const nativeAddon = {
  name: 'native addon (cargo)',
  forcible: true,
  // What is published does for a checkout as well.
  isCurrent: (profile) => ['release', profile].includes(builtProfile()),
  run: build,
}
