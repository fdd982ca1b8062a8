// Packages of any Debian suite and architecture, without a word to the system's own apt.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cache, Skipped } from './cache.mjs'

const KEYS = '/usr/share/keyrings/debian-archive-keyring.gpg'

function mirror() {
  for (const file of ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list']) {
    const found = existsSync(file) && /(?:^URIs: *|^deb (?:\[[^\]]*\] )?)(\S+)/mu.exec(readFileSync(file, 'utf8'))
    if (found) return found[1]
  }
  return 'http://deb.debian.org/debian'
}

/** The configuration of apt for a suite, with its lists. */
function configuration(suite, architecture) {
  const folder = join(cache, 'apt', `${suite}-${architecture}`)
  const file = join(folder, 'apt.conf')
  const isReady = existsSync(join(folder, 'ready'))
  for (const name of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(folder, name), { recursive: true })
  if (!isReady) writeFileSync(join(folder, 'status'), '')
  writeFileSync(join(folder, 'sources.list'), `deb [signed-by=${KEYS}] ${mirror()} ${suite} main\n`)
  const settings = {
    'Dir::Etc::sourcelist': join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'Dir::State': folder,
    'Dir::State::lists': join(folder, 'lists'),
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache': join(folder, 'cache'),
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    // A mirror that does not move any more has lists past their time.
    'Acquire::Check-Valid-Until': 'false',
    'APT::Sandbox::User': '',
  }
  // It has the paths of the checkout, which may have been moved.
  writeFileSync(
    file,
    Object.entries(settings)
      .map(([name, value]) => `${name} "${value}";\n`)
      .join(''),
  )
  if (isReady) return file
  apt(file, 'apt-get', ['update', '-qq'])
  writeFileSync(join(folder, 'ready'), '')
  return file
}

function apt(file, program, args, cwd) {
  try {
    return execFileSync(program, args, {
      cwd,
      encoding: 'utf8',
      env: { ...process.env, APT_CONFIG: file },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  } catch (error) {
    if (error.code === 'ENOENT') throw new Skipped(`there is no ${program}: needs Debian or Ubuntu`)
    throw new Skipped(`${program} ${args.join(' ')}: ${String(error.stderr).trim().split('\n').at(-1)}`)
  }
}

/** The names of packages, with all that they depend on. */
export function installation(suite, architecture, names) {
  const file = configuration(suite, architecture)
  const listed = apt(file, 'apt-get', ['install', '--yes', '--no-install-recommends', '--print-uris', ...names])
  return [...listed.matchAll(/^'[^']*' ([^_]+)_/gmu)].map(([, name]) => name)
}

/** Downloads packages, and returns their files. */
export function download(suite, architecture, names) {
  const file = configuration(suite, architecture)
  return names.map((name) => {
    const folder = join(cache, 'packages', `${suite}-${architecture}`, name)
    mkdirSync(folder, { recursive: true })
    const there = () => readdirSync(folder).find((entry) => entry.endsWith('.deb'))
    if (there() === undefined) apt(file, 'apt-get', ['download', name], folder)
    return join(folder, there())
  })
}

/** Unpacks packages into a folder. */
export function unpack(files, folder) {
  mkdirSync(folder, { recursive: true })
  for (const file of files) execFileSync('dpkg-deb', ['-x', file, folder])
}

/** The kernel of a suite: the path of its image. */
export function kernel(suite, architecture = 'amd64') {
  const folder = join(cache, 'kernels', `${suite}-${architecture}`)
  const image = () => existsSync(folder) && readdirSync(folder).find((name) => name.startsWith('vmlinuz'))
  if (!image()) {
    const file = configuration(suite, architecture)
    const depends = apt(file, 'apt-cache', ['depends', `linux-image-${architecture}`])
    const [, name] = /Depends: (linux-image-\S+)/u.exec(depends) ?? []
    if (name === undefined) throw new Skipped(`${suite} has no linux-image-${architecture}`)
    mkdirSync(folder, { recursive: true })
    // Newer packages have the image in one of its own.
    const needs = apt(file, 'apt-cache', ['depends', name])
    const [binary = name] = /linux-binary-\S+/u.exec(needs) ?? []
    const [found] = download(suite, architecture, [binary])
    const extract = 'dpkg-deb --fsys-tarfile "$0" | tar -x -C "$1" --transform "s,.*/,," --wildcards "*/vmlinuz*"'
    execFileSync('sh', ['-c', extract, found, folder])
  }
  if (!image()) throw new Skipped(`the kernel of ${suite} has no vmlinuz`)
  return join(folder, image())
}
