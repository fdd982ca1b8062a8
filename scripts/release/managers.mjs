// The package managers, each with caches of its own, and how each runs a program in a project that it has installed.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { capture, cleanEnvironment } from '../package/npm.mjs'
import { installedTools } from '../package/tools.mjs'
import { binDir } from '../setup/paths.mjs'

const tool = (...path) => join(installedTools('release/tools'), 'node_modules', ...path)

/** `install`: a program and its arguments. `node`: what runs a file of the project in Node. */
const managers = {
  npm: {
    install: () => ['npm', 'install', '--no-audit', '--no-fund', '--loglevel=error'],
    node: (file, options) => ['node', ...options, file],
  },
  pnpm: {
    install: () => [
      'node',
      tool('pnpm', 'bin', 'pnpm.cjs'),
      'install',
      '--ignore-workspace',
      '--reporter=append-only',
      '--no-frozen-lockfile',
    ],
    node: (file, options) => ['node', ...options, file],
  },
  'yarn classic': {
    install: () => ['node', tool('yarn', 'bin', 'yarn.js'), 'install', '--non-interactive', '--no-progress'],
    node: (file, options) => ['node', ...options, file],
  },
  'yarn pnp': {
    install: () => ['node', tool('@yarnpkg', 'cli-dist', 'bin', 'yarn.js'), 'install', '--no-immutable'],
    node: (file, options) => ['node', tool('@yarnpkg', 'cli-dist', 'bin', 'yarn.js'), 'node', ...options, file],
    files: {
      '.yarnrc.yml':
        'nodeLinker: pnp\nenableGlobalCache: true\nenableTelemetry: false\nunsafeHttpWhitelist: ["127.0.0.1"]\nnpmMinimalAgeGate: 0\n',
      'yarn.lock': '',
    },
  },
  bun: {
    install: () => [join(binDir, 'bun'), 'install', '--no-progress'],
    node: (file, options) => ['node', ...options, file],
  },
}

export const managerNames = Object.keys(managers)

/** Each has its cache in the folder, without what an earlier rehearsal has published under the same version. */
export function prepareCaches(caches) {
  mkdirSync(caches, { recursive: true })
  // Berry remembers addresses of tarballs, and the registry has another port each time.
  rmSync(join(caches, 'berry', 'metadata'), { recursive: true, force: true })
  for (const path of readdirSync(caches, { recursive: true })) {
    if (/(?:^|\/)(?:npm-|\.?)toolwright[\w.@-]*$/.test(path)) rmSync(join(caches, path), { recursive: true, force: true })
  }
}

const variables = (address, caches) => ({
  npm_config_registry: address,
  npm_config_cache: join(caches, 'npm'),
  npm_config_store_dir: join(caches, 'pnpm'),
  // pnpm waits a day before it takes a version, where a user has asked for that.
  npm_config_minimum_release_age: '0',
  YARN_REGISTRY: address,
  YARN_CACHE_FOLDER: join(caches, 'yarn'),
  YARN_NPM_REGISTRY_SERVER: address,
  YARN_GLOBAL_FOLDER: join(caches, 'berry'),
  BUN_CONFIG_REGISTRY: address,
  BUN_INSTALL_CACHE_DIR: join(caches, 'bun'),
  CI: '1',
})

/** A project in an empty folder. `node` is the program of Node that everything in it runs in. */
export function makeProject(folder, { manager, node, address, caches, dependencies }) {
  const { install, node: command, files = {} } = managers[manager]
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, '.npmrc'), `registry=${address}\n`)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'a-project', private: true, type: 'module', dependencies }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const clean = cleanEnvironment()
  const env = { ...clean, ...variables(address, caches), PATH: [dirname(node), binDir, clean.PATH].join(delimiter) }
  // `yarn classic` takes PnP and a cache of Berry from these.
  if (manager === 'yarn classic') delete env.YARN_GLOBAL_FOLDER
  const run = ([program, ...args]) => capture(program, args, { cwd: folder, env })
  return { folder, install: () => run(install()), run, runNode: (file, options = []) => run(command(file, options)) }
}
