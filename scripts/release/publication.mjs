// How the packages of a release are published: byte for byte as they were rehearsed, and so that it can be interrupted.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { capture, cleanEnvironment } from '../package/npm.mjs'
import { cacheDir, root } from '../setup/paths.mjs'
import { platforms } from './packages.mjs'

/** What a rehearsal that has passed writes for the publication: the packages, each with its tarball and where its addon is from. */
export const RELEASE = join(cacheDir, 'release', 'release.json')

/** A hash as npm has it. */
export const integrityOf = (tarball) => `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`

/** The platform packages first: whoever installs the root package finds them. */
export const inOrder = (packages) => packages.toSorted((a, b) => Number(a.name === 'toolwright') - Number(b.name === 'toolwright'))

/** What speaks against publishing a release. */
export function* objections({ version, packages }, wanted) {
  if (version !== wanted) yield `version ${version} was rehearsed, and package.json has ${wanted}`
  for (const name of ['toolwright', ...platforms.map((platform) => `toolwright-${platform}`)]) {
    const one = packages.find((other) => other.name === name)
    if (one === undefined) yield `${name} was not rehearsed`
    else if (integrityOf(one.tarball) !== one.integrity) yield `${name} is not what was rehearsed: ${one.tarball} has changed`
    else if (one.kind !== undefined && one.kind !== 'given') yield `${name} was rehearsed with an addon that is none of the release's`
  }
}

/** By these npm finds its registry and rights in a workflow; `cleanEnvironment` takes them for variables of an `npm run`. */
const OWN = /^npm_config_(?:userconfig|provenance)$/i
const environment = () => ({ ...cleanEnvironment(), ...Object.fromEntries(Object.entries(process.env).filter(([name]) => OWN.test(name))) })
const npm = (args) => capture('npm', [...args, '--loglevel=error'], { cwd: root, env: environment() })

/** The hash of a version that is published, if it is. */
function publishedIntegrity(name, version, registry) {
  try {
    return npm(['view', `${name}@${version}`, 'dist.integrity', '--prefer-online', ...registry]).trim() || undefined
  } catch (error) {
    if (/E404|ETARGET/.test(error.message)) return undefined
    throw error
  }
}

/** Publishes what is not yet. `registry` and `options` are npm's. `say` gets a line for each package. */
export function publish({ version, packages }, { registry = [], options = [], say = () => {} } = {}) {
  const tag = version.includes('-') ? ['--tag', 'next'] : []
  for (const { name, tarball, integrity } of inOrder(packages)) {
    const published = publishedIntegrity(name, version, registry)
    if (published !== undefined && published !== integrity) {
      throw new Error(`${name}@${version} is published with other contents: ${published}`)
    }
    if (published === integrity) {
      say(`${name}@${version} is published already`)
      continue
    }
    npm(['publish', tarball, '--ignore-scripts', '--access', 'public', ...tag, ...registry, ...options])
    say(`${name}@${version} ${options.includes('--dry-run') ? 'would be' : 'is'} published`)
  }
}
