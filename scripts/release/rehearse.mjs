// A release that is published nowhere but on this machine. See HELP.
import { cpSync, createReadStream, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { installedTools } from '../package/tools.mjs'
import { isPlaceholder } from '../package/repository.mjs'
import { runtimes } from '../package/runtimes.mjs'
import { localAddon } from '../package/tarballs.mjs'
import { withLock } from '../setup/lock.mjs'
import { cacheDir, root } from '../setup/paths.mjs'
import { checks, problemsOfRelease } from './checks.mjs'
import { makeProject, managerNames, prepareCaches } from './managers.mjs'
import { packPackages, platforms, readJson, stagePackages, writeJson } from './packages.mjs'
import { plants } from './plants.mjs'
import { Skipped, startRows } from './progress.mjs'
import { integrityOf, publish, RELEASE } from './publication.mjs'
import { startRegistry } from './registry.mjs'
import { auditSignatures, writeLists } from './sbom.mjs'
import { breakPlatform, peers, platformsTaken, upgrade, useDemo, useInBun, useInNode } from './uses.mjs'

const HELP = `Usage: npm run release:rehearse -- [options]

Packs all packages, checks them, publishes them to a registry on this machine, and installs from it into empty projects
with npm, pnpm, Yarn (classic, and PnP) and Bun, on Node 22, 24 and 26. There it runs the README's first program, an agent and
the demo, upgrades from the version before, and breaks the platform package. Each of ten faults is planted in a copy, and has
to be found.

The addon of this machine is the one that \`npm run build\` has made; those of other machines are stand-ins, copies under
their names, unless they are given. Downloads are kept in .cache/release. A rehearsal that was interrupted, or failed, goes on
where it was as long as the packages are the same.

  --artifacts DIR   take addons from this folder (toolwright.PLATFORM.node, at any depth), as the release builds them;
                    their sizes and their glibc are judged as those of a release
  --before DIR      tarballs of the version before; unless they are given it is this one under a lower number
  --plant NAME      plant a fault and run the checks, which have to fail: ${Object.keys(plants).join(', ')}
  --checks          pack and check, without a registry
  --fresh           forget what an earlier rehearsal has passed
  --help            show this text

The last line is 'N passed, N failed, N skipped'; the exit code is 1 if something failed.
`

const { values } = parseArgs({
  options: {
    artifacts: { type: 'string' },
    before: { type: 'string' },
    plant: { type: 'string' },
    checks: { type: 'boolean' },
    fresh: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
})
const home = join(cacheDir, 'release')
const staged = join(home, 'packages')

async function hashOf(files) {
  const hash = createHash('sha256')
  for (const file of files) for await (const part of createReadStream(file)) hash.update(part)
  return hash.digest('hex')
}

/** What passed by other checks has not passed. */
const ownFiles = () =>
  ['scripts/release', 'scripts/package', 'scripts/fixtures'].flatMap((folder) =>
    readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  )

/** An addon of this checkout is of another profile than a release's, and its size is not judged. */
const isSmall = (sources) => (name) => name === 'toolwright' || sources[name.slice('toolwright-'.length)].kind === 'given'
const releaseOf = async (work, sources) => ({
  packages: await packPackages(work, { isSmall: isSmall(sources) }),
  sources,
  checkout: join(work, 'checkout'),
})

function report(problems) {
  if (problems.length > 0) throw new Error(problems.map(({ check, problem }) => `${check}: ${problem}`).join('\n'))
}

/** Plants a fault in a copy of what it changes. Returns what the checks find, all unless some are chosen. */
async function plantFault(name, release, chosen) {
  const work = join(home, 'planted')
  rmSync(work, { recursive: true, force: true })
  const { platform } = localAddon()
  const changed = [plants[name].of?.(platform)].filter((one) => one !== undefined)
  for (const folder of [...changed, 'checkout']) cpSync(join(staged, folder), join(work, folder), { recursive: true })
  plants[name].plant(work, platform)
  const packages = {
    ...release.packages,
    ...(await packPackages(work, { only: changed, ...(chosen === undefined && { isSmall: isSmall(release.sources) }) })),
  }
  return problemsOfRelease({ ...release, packages, checkout: join(work, 'checkout') }, chosen)
}

/** The same packages under a lower number, or those of the version before. */
async function publishBefore(registry) {
  const publishAs = (version, tarballs) =>
    publish(
      { version, packages: Object.entries(tarballs).map(([name, tarball]) => ({ name, tarball, integrity: integrityOf(tarball) })) },
      { registry: registry.options, options: ['--tag', 'before'] },
    )
  if (values.before !== undefined) {
    const names = ['', ...platforms.map((platform) => `-${platform}`)]
    const { version } = readJson(join(root, 'package.json'))
    const tarballs = readdirSync(values.before).filter((file) => names.some((name) => file.startsWith(`toolwright${name}-`)))
    const found = tarballs.map((file) => /^toolwright-(\d.*)\.tgz$/.exec(file)?.[1]).find((one) => one !== undefined && one !== version)
    publishAs(found, Object.fromEntries(tarballs.map((file) => [file.slice(0, -`-${found}.tgz`.length), resolve(values.before, file)])))
    return found
  }
  const before = '0.0.1'
  const work = join(home, 'before')
  rmSync(work, { recursive: true, force: true })
  const local = `toolwright-${localAddon().platform}`
  for (const name of ['toolwright', local]) {
    cpSync(join(staged, name), join(work, name), { recursive: true })
    const manifest = readJson(join(work, name, 'package.json'))
    manifest.version = before
    if (name === 'toolwright') manifest.optionalDependencies = { [local]: before }
    writeJson(join(work, name, 'package.json'), manifest)
  }
  const packed = Object.values(await packPackages(work, { only: ['toolwright', local] }))
  publishAs(before, Object.fromEntries(packed.map(({ name, tarball }) => [name, tarball])))
  return before
}

async function rehearseInstalls({ row, isKept }, { registry, packages, before }) {
  const caches = join(home, 'caches')
  prepareCaches(caches)
  const { version } = packages.toolwright.manifest
  const { platform } = localAddon()
  const common = { address: registry.address, caches }
  for (const { name, binary } of runtimes.filter((one) => one.name !== 'Bun')) {
    let node
    const isHad = await row(`${name} is had`, () => {
      try {
        node = binary()
      } catch (error) {
        throw new Skipped(`npm has no ${name} here: ${error.message.split('\n')[0]}`)
      }
    })
    if (!isHad) continue
    node ??= binary()
    for (const manager of managerNames) {
      const folder = join(home, 'projects', `${manager}-${name}`.replaceAll(' ', '-'))
      const title = `${manager}, ${name}: installs, an agent and the README's program work`
      const project = makeProjectUnless(isKept(title), folder, {
        ...common,
        manager,
        node,
        dependencies: { toolwright: version, ...peers() },
      })
      await row(title, () => {
        project.install()
        useInNode(project)
      })
    }
  }
  const node = runtimes.find(({ name }) => name === 'Node 24').binary()
  const projectOf = (name, manager = 'npm', dependencies = { toolwright: version, ...peers() }) =>
    makeProject(join(home, 'projects', name), { ...common, manager, node, dependencies })
  await row('bun, Bun: installs, an agent works', () => {
    const project = projectOf('bun', 'bun')
    project.install()
    useInNode(project)
    useInBun(project)
  })
  for (const manager of ['npm', 'pnpm', 'yarn pnp']) {
    await row(`${manager}: the demo repairs its project`, () => {
      const project = projectOf(`demo-${manager.replaceAll(' ', '-')}`, manager)
      project.install()
      useDemo(project, join(root, 'examples'))
    })
  }
  await row(`npm: upgrades from ${before}`, () => upgrade(projectOf('upgrade', 'npm', peers()), { before, version, platform }))
  for (const manager of ['npm', 'pnpm']) {
    await row(`${manager}: a broken platform package is named`, () => {
      // As a dependency of its own, so that it lies where a test can break it.
      const project = projectOf(`broken-${manager}`, manager, { toolwright: version, [`toolwright-${platform}`]: version, ...peers() })
      project.install()
      breakPlatform(project, platform)
    })
  }
  const machine = projectOf('machine', 'npm', { toolwright: version })
  for (const other of platforms) {
    await row(`npm takes the package of ${other}, and no other`, () => {
      const taken = platformsTaken(machine, other)
      if (taken.join() !== other) throw new Error(`it takes ${taken.join(', ') || 'none'}`)
    })
  }
}

/** A project that is not needed is not laid out anew. */
const makeProjectUnless = (isKept, folder, options) => (isKept ? undefined : makeProject(folder, options))

async function main() {
  const say = (text) => process.stdout.write(`rehearse  ${text}\n`)
  mkdirSync(home, { recursive: true })
  say('packing …')
  const sources = await stagePackages(staged, values.artifacts && resolve(values.artifacts))
  for (const [platform, { kind, path }] of Object.entries(sources))
    say(`toolwright-${platform}: ${kind}${kind === 'stand-in' ? '' : `, ${path}`}`)
  if (isPlaceholder) say("the repository's owner is a placeholder, with which the release itself refuses to publish")

  if (values.plant !== undefined) {
    const problems = await plantFault(values.plant, await releaseOf(staged, sources))
    for (const { check, problem } of problems) say(`${check}: ${problem}`)
    process.stdout.write(
      `\n${checks.length - new Set(problems.map(({ check }) => check)).size} passed, ${new Set(problems.map(({ check }) => check)).size} failed\n`,
    )
    process.exitCode = problems.length > 0 ? 1 : 0
    return
  }

  rmSync(RELEASE, { force: true })
  const release = await releaseOf(staged, sources)
  const tarballs = Object.values(release.packages).map(({ tarball }) => tarball)
  const publication = {
    version: release.packages.toolwright.manifest.version,
    packages: Object.values(release.packages).map(({ name, tarball }) => ({
      name,
      tarball,
      integrity: integrityOf(tarball),
      kind: sources[name.slice('toolwright-'.length)]?.kind,
    })),
  }
  const file = join(home, 'passed.json')
  if (values.fresh) rmSync(file, { force: true })
  const rows = startRows(file, await hashOf([...tarballs, ...ownFiles()]))
  for (const check of checks) {
    await rows.row(`check: ${check.name}`, () => {
      report(problemsOfRelease(release, [check]))
      if (check.name !== 'sizes') return undefined
      const sizes = Object.values(release.packages).filter(({ name }) => sources[name.slice('toolwright-'.length)]?.kind !== 'stand-in')
      return sizes.map(({ name, bytes }) => `${name} ${(bytes / 1000).toFixed(0)} kB`).join(', ')
    })
  }
  for (const name of Object.keys(plants)) {
    await rows.row(`planted: ${name}`, async () => {
      const wanted = checks.filter((check) => check.name === plants[name].check)
      const found = await plantFault(name, release, wanted)
      const problem = found.map((one) => one.problem).find((text) => plants[name].says.test(text))
      if (problem === undefined) throw new Error(`the check ${plants[name].check} does not find it`)
      return problem
    })
  }
  await rows.row('lists of what is inside (CycloneDX), and checksums', () =>
    writeLists(join(staged, 'tarballs'), tarballs, release.packages.toolwright.manifest.version),
  )
  await rows.row('signatures of what the lockfile names', () => auditSignatures(Skipped))
  if (!values.checks) {
    say('registry …')
    installedTools('release/tools')
    const registry = await startRegistry(join(home, 'registry'))
    try {
      const before = await publishBefore(registry)
      const published = []
      const publishAll = () => publish(publication, { registry: registry.options, say: (text) => published.push(text) })
      publishAll()
      say(`published ${published.length} packages to ${registry.address}`)
      await rows.row('what is published already is left alone', () => {
        publishAll()
        const again = published.slice(tarballs.length).filter((text) => text.endsWith('is published already'))
        if (again.length !== tarballs.length) throw new Error(`${again.length} of ${tarballs.length} packages`)
      })
      await rows.row('a version that is published with other contents is not published over', () => {
        const others = publication.packages.map((one) => ({ ...one, integrity: integrityOf(join(root, 'package.json')) }))
        try {
          publish({ ...publication, packages: others }, { registry: registry.options })
        } catch (error) {
          if (/is published with other contents: sha512-/.test(error.message)) return
          throw error
        }
        throw new Error('it is')
      })
      await rehearseInstalls(rows, { registry, packages: release.packages, before })
    } finally {
      await registry.stop()
    }
  }
  const hasPassed = rows.end()
  if (hasPassed && !values.checks) writeJson(RELEASE, publication)
  process.exitCode = hasPassed ? 0 : 1
}

if (values.help) process.stdout.write(HELP)
else {
  try {
    const { plant } = values
    if (plant !== undefined && !Object.hasOwn(plants, plant))
      throw new TypeError(`no fault ${plant}: choose from ${Object.keys(plants).join(', ')}`)
    // Two would write into the same folders.
    await withLock(main, 'rehearsal')
  } catch (error) {
    if (!(error instanceof TypeError && error.message.startsWith('no fault '))) throw error
    process.stderr.write(`rehearse  ${error.message}\n`)
    process.exitCode = 2
  }
}
