// What has to hold for the packages of a release. Each check returns its problems; scripts/release/plants.mjs has a fault for each of ten.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { problemsOf as problemsOfChangelog, released, sections, unreleasedProblems } from '../package/changelog.mjs'
import { NEEDED, PUBLISHED, platformFiles } from '../package/contents.mjs'
import { FLOOR, neededGlibc } from '../package/glibc-floor.mjs'
import { packagesWithoutHash } from '../package/locked-hashes.mjs'
import { capture } from '../package/npm.mjs'
import { deadLinks } from '../package/published-links.mjs'
import { repositoryFields } from '../package/repository.mjs'
import { binDir, root } from '../setup/paths.mjs'
import { addonOf, platforms, readJson } from './packages.mjs'

/**
 * Bytes of a tarball. The root package had 400,000 before forks, language servers and documents came, and a platform's 5,500,000
 * before credentials did: TLS, HTTP and certificates.
 */
const LIMITS = { root: 460_000, platform: 8_600_000 }

const all = ({ packages }) => Object.values(packages)
const ofPlatform = ({ packages }, platform) => packages[`toolwright-${platform}`]
const read = ({ folder }, file) => readFileSync(join(folder, file), 'utf8')

/** What the first bytes of a library say: its format and processor. */
function machineOf(library) {
  if (library.readUInt32BE(0) === 0x7f454c46) return { 62: 'linux-x64', 183: 'linux-arm64' }[library.readUInt16LE(18)]
  if (library.readUInt32LE(0) === 0xfeedfacf) return { 0x01000007: 'darwin-x64', 0x0100000c: 'darwin-arm64' }[library.readUInt32LE(4)]
  return undefined
}

const glibcHere = () => process.report.getReport().header.glibcVersionRuntime?.split('.').map(Number)

/** A build of this checkout is linked against the machine's own glibc, and a release against an old one. */
const floorOf = ({ kind }) => (kind === 'given' ? FLOOR : (glibcHere() ?? FLOOR))

function* addonProblems(release) {
  for (const platform of platforms) {
    const one = ofPlatform(release, platform)
    const file = addonOf(platform)
    if (one === undefined) yield `toolwright-${platform} is missing`
    else if (!existsSync(join(one.folder, file))) yield `${one.name}: ${file} is missing`
    else if (one.manifest.main !== file) yield `${one.name}: main is ${one.manifest.main}`
    else if (release.sources[platform].kind !== 'stand-in') {
      const machine = machineOf(readFileSync(join(one.folder, file)))
      if (!platform.startsWith(machine ?? '?')) yield `${one.name}: ${file} is for ${machine ?? 'no machine that is known'}`
    }
  }
}

function* glibcProblems(release) {
  for (const platform of platforms.filter((name) => name.endsWith('-gnu'))) {
    const source = release.sources[platform]
    const path = join(ofPlatform(release, platform)?.folder ?? '', addonOf(platform))
    if (source.kind === 'stand-in' || !existsSync(path)) continue
    const needed = neededGlibc(readFileSync(path))
    const [major, minor] = floorOf(source)
    if (needed === undefined) yield `toolwright-${platform}: names no version of glibc`
    else if (needed[0] > major || (needed[0] === major && needed[1] > minor))
      yield `toolwright-${platform} needs glibc ${needed.join('.')}, and ${major}.${minor} is the latest that it may need`
  }
}

function* licenceProblems(release) {
  const licence = readFileSync(join(root, 'LICENSE'), 'utf8')
  for (const one of all(release)) {
    if (one.manifest.license !== 'MIT') yield `${one.name}: license is ${one.manifest.license}`
    if (!one.files.includes('LICENSE')) yield `${one.name}: LICENSE is missing`
    else if (read(one, 'LICENSE') !== licence) yield `${one.name}: LICENSE is another one`
    if (!one.files.includes('THIRD-PARTY-NOTICES.md')) yield `${one.name}: THIRD-PARTY-NOTICES.md is missing`
    else if (!/^### /m.test(read(one, 'THIRD-PARTY-NOTICES.md'))) yield `${one.name}: THIRD-PARTY-NOTICES.md names nobody`
  }
}

/** Compiles every entry point's declarations as they are packed, and looks at how they are found. */
function* typeProblems({ packages: { toolwright } }) {
  const targets = Object.values(toolwright.manifest.exports).flatMap((entry) => (typeof entry === 'string' ? entry : Object.values(entry)))
  for (const target of targets)
    if (!existsSync(join(toolwright.folder, target))) yield `toolwright: exports names ${target}, which is missing`
  // Below the checkout, where the declarations of the peers are found.
  const folder = join(root, 'node_modules', '.cache', 'toolwright', 'declarations')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const files = Object.values(toolwright.manifest.exports).flatMap(({ types }) =>
    types === undefined ? [] : join(toolwright.folder, types),
  )
  const options = { noEmit: true, strict: true, module: 'nodenext', target: 'es2023', types: ['node'], skipLibCheck: false }
  const lib = ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable']
  const typeRoots = [join(root, 'node_modules', '@types')]
  const compilerOptions = { ...options, lib, typeRoots, paths: { '*': [join(root, 'node_modules', '*')] } }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  yield* problemsOf(
    () => capture(join(binDir, 'tsc'), ['-p', folder, '--pretty', 'false'], { cwd: root }),
    // The declarations of others have errors of their own; that the compiler did not run is ours.
    (line) => /toolwright\/dist\//.test(line) || /\bENOENT\b|\bEACCES\b/.test(line),
  )
  yield* problemsOf(() => capture(join(binDir, 'publint'), [toolwright.tarball, '--strict'], { cwd: root }))
  yield* problemsOf(() => capture(join(binDir, 'attw'), [toolwright.tarball, '--profile', 'esm-only'], { cwd: root }))
}

/** The lines of a program that failed, if there are any. */
function problemsOf(work, isOurs = () => true) {
  try {
    work()
    return []
  } catch (error) {
    return error.message.split('\n').filter((line) => line.trim() !== '' && isOurs(line))
  }
}

const linkProblems = ({ packages: { toolwright } }) => deadLinks(toolwright.folder, toolwright.files)

function* contentProblems(release) {
  const { toolwright } = release.packages
  for (const file of toolwright.files.filter((one) => !PUBLISHED.test(one))) yield `toolwright: ${file} is not to be published`
  for (const file of NEEDED.filter((one) => !toolwright.files.includes(one))) yield `toolwright: ${file} is missing`
  for (const platform of platforms) {
    const one = ofPlatform(release, platform)
    const strangers = one?.files.filter((file) => !platformFiles(addonOf(platform)).includes(file)) ?? []
    for (const file of strangers) yield `${one.name}: ${file} is not to be published`
  }
}

function* versionProblems(release) {
  const { version } = readJson(join(root, 'package.json'))
  const workspace = /^\[workspace\.package\][^[]*?^version = "([^"]+)"/ms.exec(readFileSync(join(root, 'Cargo.toml'), 'utf8'))?.[1]
  if (workspace !== version) yield `Cargo.toml has version ${workspace}, package.json ${version}`
  for (const one of all(release))
    if (one.manifest.version !== version) yield `${one.name}: version is ${one.manifest.version}, not ${version}`
  const named = release.packages.toolwright.manifest.optionalDependencies ?? {}
  for (const platform of platforms) {
    const wanted = named[`toolwright-${platform}`]
    if (wanted !== version) yield `toolwright: optionalDependencies has ${wanted} of toolwright-${platform}, not exactly ${version}`
  }
}

/** A release has its section; before that, what is unreleased has to be able to become one. */
function* changelogProblems({ sources, checkout }) {
  const { version } = readJson(join(root, 'package.json'))
  const text = readFileSync(join(checkout, 'CHANGELOG.md'), 'utf8')
  const isRelease = Object.values(sources).some(({ kind }) => kind === 'given')
  if (isRelease || sections(text).some(({ title }) => title === version)) {
    yield* isRelease ? unreleasedProblems(text, version) : problemsOfChangelog(text)
    return
  }
  yield* problemsOf(() => {
    const problems = [...unreleasedProblems(released(text, version, '2000-01-01'), version)]
    if (problems.length > 0) throw new Error(problems.join('\n'))
  })
}

const hashProblems = ({ checkout }) => packagesWithoutHash(checkout)

function* scriptProblems(release) {
  for (const one of all(release)) {
    for (const name of Object.keys(one.manifest.scripts ?? {})) yield `${one.name}: has a script ${name}`
    if (one.files.includes('binding.gyp')) yield `${one.name}: has a binding.gyp, for which npm compiles`
  }
}

/** Packages that the published modules and declarations import. */
const IMPORTED = /(?:\bfrom|\bimport|\bimport\s*\(|\brequire\s*\(|\]\.join\(\)\)\s*)\s*(["'`])([^"'`$\s]+)\1|\[`([^`]+)`\]\.join\(\)/g

function* importProblems({ packages: { toolwright } }) {
  const { dependencies, peerDependencies, optionalDependencies, imports } = toolwright.manifest
  const declared = new Set(Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies, ...imports, toolwright: '' }))
  const undeclared = new Map()
  for (const file of toolwright.files.filter(
    (one) => /^(?:dist\/.*\.(?:js|d\.ts)|index\.c?js)$/.test(one) && !one.includes('/report/page/'),
  )) {
    // An example in a comment, or a program in a text, is none of the module's imports.
    const text = read(toolwright, file).replaceAll(/\/\*\*[^]*?\*\//g, '')
    if (file.includes('worker-texts')) continue
    for (const [, , literal, joined] of text.matchAll(IMPORTED)) {
      const specifier = literal ?? joined
      if (/^[./]|^node:|^file:|^bun$/.test(specifier) || isBuiltin(specifier)) continue
      // The napi CLI's loader asks for packages of machines for which there is none.
      if (file === 'index.js' && specifier.startsWith('toolwright-')) continue
      const name = specifier
        .split('/')
        .slice(0, specifier.startsWith('@') ? 2 : 1)
        .join('/')
      if (/^(?:@[\w.-]+\/)?[a-z#][\w.-]*$/.test(name) && !declared.has(name)) undeclared.set(name, file)
    }
  }
  for (const [name, file] of undeclared) yield `toolwright: ${file} imports ${name}, which is no dependency and no peer`
  for (const name of Object.keys(toolwright.manifest.peerDependenciesMeta ?? {}))
    if (peerDependencies?.[name] === undefined) yield `toolwright: the optional peer ${name} is no peer`
}

function* provenanceProblems(release) {
  for (const one of all(release)) {
    for (const [field, expected] of Object.entries(repositoryFields)) {
      if (JSON.stringify(one.manifest[field]) !== JSON.stringify(expected))
        yield `${one.name}: ${field} is ${JSON.stringify(one.manifest[field])}`
    }
    if (one.manifest.private) yield `${one.name}: is private`
    if (one.manifest.publishConfig?.access === 'restricted') yield `${one.name}: is restricted`
  }
}

function* platformProblems(release) {
  for (const platform of platforms) {
    const one = ofPlatform(release, platform)
    if (one === undefined) continue
    const [os, cpu, libc] = platform.split('-')
    const expected = { os: [os], cpu: [cpu], libc: libc && [{ gnu: 'glibc', musl: 'musl' }[libc]] }
    for (const [field, value] of Object.entries(expected))
      if (JSON.stringify(one.manifest[field]) !== JSON.stringify(value))
        yield `${one.name}: ${field} is ${JSON.stringify(one.manifest[field])}`
  }
}

function* sizeProblems(release) {
  for (const one of all(release)) {
    const platform = one.name.slice('toolwright-'.length)
    // A build of a checkout has another profile than a release.
    if (platform !== '' && release.sources[platform].kind !== 'given') continue
    const limit = platform === '' ? LIMITS.root : LIMITS.platform
    if (one.bytes > limit) yield `${one.name}: ${one.bytes} bytes packed, and ${limit} is the limit`
  }
}

/** In the order in which they are made; `slow` ones take seconds. */
export const checks = [
  { name: 'addons', find: addonProblems },
  { name: 'glibc', find: glibcProblems },
  { name: 'licences and notices', find: licenceProblems },
  { name: 'contents', find: contentProblems },
  { name: 'links', find: linkProblems },
  { name: 'versions', find: versionProblems },
  { name: 'changelog', find: changelogProblems },
  { name: 'hashes of the lockfiles', find: hashProblems },
  { name: 'no scripts', find: scriptProblems },
  { name: 'imports are declared', find: importProblems },
  { name: 'provenance fields', find: provenanceProblems },
  { name: 'os, cpu and libc', find: platformProblems },
  { name: 'sizes', find: sizeProblems },
  { name: 'types, publint', find: typeProblems, slow: true },
]

/** The problems of a release, by the name of the check. */
export const problemsOfRelease = (release, chosen = checks) =>
  chosen.flatMap(({ name, find }) => [...find(release)].map((problem) => ({ check: name, problem })))
