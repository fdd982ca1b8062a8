// What the packages of a release are made of, as CycloneDX lists: `toolwright.cdx.json` for the root package, and one for the addons.
import { createHash, randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { BUNDLED } from '../package/notices.mjs'
import { capture } from '../package/npm.mjs'
import { linkedCrates } from '../package/rust-crates.mjs'
import { importTool, installedTools } from '../package/tools.mjs'
import { binDir, root } from '../setup/paths.mjs'
import { readJson, writeJson } from './packages.mjs'

const SPECIFICATION = '1.6'
const npmAddress = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`

/** An npm hash, `sha512-…` in base64, as CycloneDX has it. */
const hashesOf = (integrity) => [{ alg: 'SHA-512', content: Buffer.from(integrity.split('-')[1], 'base64').toString('hex') }]

/** The root package: what npm installs with it, by the lockfile, and what the build joins into it. */
function rootList(folder) {
  const program = join(installedTools('release/tools'), 'node_modules', '@cyclonedx', 'cyclonedx-npm', 'bin', 'cyclonedx-npm-cli.js')
  const file = join(folder, 'toolwright.cdx.json')
  const choice = ['--package-lock-only', '--omit', 'dev', '--omit', 'optional', '--omit', 'peer', '--output-reproducible']
  const args = [
    program,
    ...choice,
    '--spec-version',
    SPECIFICATION,
    '--mc-type',
    'library',
    '--output-file',
    file,
    join(root, 'package.json'),
  ]
  capture(join(binDir, 'node'), args, { cwd: root })
  const list = readJson(file)
  const { packages } = readJson(join(root, 'package-lock.json'))
  const known = new Set(list.components.map(({ purl }) => purl?.split('?')[0]))
  for (const name of BUNDLED) {
    const { version, integrity, license } = packages[`node_modules/${name}`]
    const purl = npmAddress(name, version)
    if (known.has(purl)) continue
    const licenses = [{ expression: license }]
    list.components.push({ type: 'library', name, version, 'bom-ref': purl, purl, licenses, hashes: hashesOf(integrity) })
  }
  writeJson(file, list)
  return file
}

/** The hashes of Cargo.lock, by the name and version of the crate. */
function checksums() {
  const text = readFileSync(join(root, 'Cargo.lock'), 'utf8')
  const pattern = /name = "([^"]+)"\nversion = "([^"]+)"\nsource = "[^"]+"\nchecksum = "([^"]+)"/g
  return new Map([...text.matchAll(pattern)].map(([, name, version, content]) => [`${name} ${version}`, content]))
}

/** The addons: the crates that are linked on some platform, and what is no crate. */
function addonList(folder, version) {
  const { napi } = readJson(join(root, 'package.json'))
  const hashes = checksums()
  const components = linkedCrates(napi.targets).map(({ title, expression }) => {
    const [name, crateVersion] = title.split(' ')
    const purl = `pkg:cargo/${name}@${crateVersion}`
    // The older way to write a choice of licences.
    const licenses = [{ expression: expression.replaceAll('/', ' OR ') }]
    const content = hashes.get(title)
    if (content === undefined) throw new Error(`Cargo.lock has no checksum of ${title}`)
    return { type: 'library', name, version: crateVersion, 'bom-ref': purl, purl, licenses, hashes: [{ alg: 'SHA-256', content }] }
  })
  const others = [
    { type: 'library', name: 'Rust standard library', 'bom-ref': 'rust-std', licenses: [{ expression: 'MIT OR Apache-2.0' }] },
    { type: 'library', name: 'SQLite', 'bom-ref': 'sqlite', description: 'its source is in the crate libsqlite3-sys' },
    { type: 'library', name: 'GNU C Library', 'bom-ref': 'glibc', licenses: [{ expression: 'LGPL-2.1-or-later' }] },
    { type: 'library', name: 'musl', 'bom-ref': 'musl', licenses: [{ expression: 'MIT' }] },
  ]
  const list = {
    $schema: `http://cyclonedx.org/schema/bom-${SPECIFICATION}.schema.json`,
    bomFormat: 'CycloneDX',
    specVersion: SPECIFICATION,
    serialNumber: `urn:uuid:${randomUUID()}`,
    version: 1,
    metadata: { component: { type: 'library', name: 'toolwright addon', version, 'bom-ref': 'toolwright-addon' } },
    components: [...components, ...others],
  }
  const file = join(folder, 'toolwright-addon.cdx.json')
  writeJson(file, list)
  return file
}

/** Fails if a list is not what the schema of CycloneDX asks for. */
async function validate(file) {
  const library = await importTool(installedTools('release/tools'), '@cyclonedx/cyclonedx-library')
  const { Validation, Spec } = library.default ?? library
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6)
  const problem = await validator.validate(readFileSync(file, 'utf8'))
  if (problem !== null) throw new Error(`${basename(file)}: ${JSON.stringify(problem).slice(0, 500)}`)
  return readJson(file).components.length
}

/** Writes both lists, validated, and SHA256SUMS of them and of the tarballs. Returns a line about them. */
export async function writeLists(folder, tarballs, version) {
  const lists = [rootList(folder), addonList(folder, version)]
  const counts = []
  for (const list of lists) counts.push(`${basename(list)} ${await validate(list)} components`)
  const sums = [...tarballs, ...lists].map(
    (file) => `${createHash('sha256').update(readFileSync(file)).digest('hex')}  ${basename(file)}\n`,
  )
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
  return `${counts.join(', ')}, SHA256SUMS of ${sums.length} files`
}

/** `npm audit signatures` of what is installed; what it needs from outside may be out of reach. */
export function auditSignatures(Skipped) {
  try {
    return capture('npm', ['audit', 'signatures'], { cwd: root }).trim().split('\n').slice(1).join(' ')
  } catch (error) {
    if (/ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|network|TUF|fetch failed|\b40[34]\b/i.test(error.message))
      throw new Skipped("the keys of the registry's signatures cannot be reached from here")
    throw error
  }
}
