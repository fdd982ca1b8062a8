import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { binDir, root } from './paths.mjs'
import { run } from './run-command.mjs'
import { SetupError } from './setup-error.mjs'

const readPackages = (file) => JSON.parse(readFileSync(join(root, file), 'utf8')).packages

/**
 * npm records what it installed in node_modules/.package-lock.json, and writes that file last.
 * Comparing the two lockfiles also recognises an install that was done by hand.
 */
function isCurrent() {
  let installed
  try {
    installed = readPackages('node_modules/.package-lock.json')
  } catch {
    return false
  }
  return Object.entries(readPackages('package-lock.json')).every(([path, locked]) => {
    if (path === '') return true
    const actual = installed[path]
    // Binaries for other platforms are in the lockfile and never installed.
    if (actual === undefined) return locked.optional === true
    if (actual.version !== locked.version) return false
    return !actual.integrity || !locked.integrity || actual.integrity === locked.integrity
  })
}

/**
 * `npm ci` deletes node_modules, with the Node inside it. It and the install scripts it starts
 * must therefore run under the system's Node.
 */
function npmCommand() {
  const { npm_execpath: cli = '', npm_node_execpath: node = '' } = process.env
  if (/npm-cli\.c?js$/.test(cli) && node !== '' && !node.startsWith(root)) return [node, cli]
  return ['npm']
}

async function install() {
  const path = (process.env.PATH || '').split(delimiter).filter((entry) => entry !== binDir)
  const [program, ...args] = npmCommand()
  // Engine warnings would be about the system's Node, which runs nothing but this install.
  const options = ['--no-audit', '--no-fund', '--loglevel=error']
  const env = { ...process.env, PATH: path.join(delimiter) }
  let ended
  try {
    ended = await run(program, [...args, 'ci', ...options], { cwd: root, env, stdio: ['ignore', 2, 2] })
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    throw new SetupError('npm is not on PATH: install Node with npm from https://nodejs.org')
  }
  if (ended.code === 0) return
  throw new SetupError(
    'npm ci failed, its output is above: check that the npm registry can be reached, and run `npm install` if package.json and package-lock.json disagree',
  )
}

export const dependencies = {
  name: 'dependencies (npm ci)',
  forcible: false,
  isCurrent,
  run: install,
}
