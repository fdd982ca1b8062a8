// Looks for misspelt words with `typos`, which comes from PATH or, where there is Python, from PyPI into .cache.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './setup/paths.mjs'

const VERSION = '1.52.0'
const folder = join(root, '.cache', `typos-${VERSION}`)
const cached = join(folder, 'bin', 'typos')

const works = (program, args) => spawnSync(program, args, { stdio: 'ignore' }).status === 0

function findTypos() {
  if (existsSync(cached)) return cached
  if (works('typos', ['--version'])) return 'typos'
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', folder, `typos==${VERSION}`]
  return works('python3', install) ? cached : undefined
}

const typos = findTypos()
if (typos === undefined) console.log('skipped: `cargo install typos-cli`, or Python with pip, brings typos')
else process.exitCode = spawnSync(typos, ['--format', 'brief'], { cwd: root, stdio: 'inherit' }).status ?? 1
