/** Finds paths near one that cannot be used, for the hint of an error. It looks only inside the root. */
import { constants } from 'node:fs'
import { open, opendir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { nearestName } from './text.js'

export interface NearEntry {
  name: string
  isDirectory: boolean
}

type Kind = 'file' | 'directory' | 'any'

/** In a larger directory, only the first entries are compared. */
const MAX_ENTRIES = 5_000
/** Longer paths are not corrected. */
const MAX_DEPTH = 32

/** Whether a path begins with the home directory as a shell writes it. */
export const isOfHome = (path: string): boolean => /^["']?(?:~|\$HOME|\$\{HOME\})\//u.test(path)

/** What such a path means to the tools for files. */
export const NO_HOME = 'A path is taken as it is: `~` and `$HOME` stand for no directory.'

/** A path without what is written around one elsewhere: JSON, markup, quotes, `@`, `file://`, its lines, backslashes as separators. */
function bare(path: string, root: string): string {
  const text = pathInJson(path)
    .replace(/<\/[\w:-]+>\s*$/u, '')
    .trim()
    .replace(/^(["'`])(.*)\1$/su, '$2')
    .replace(/^@(?=.)/u, '')
    .replace(/(?<=.)(?:#L|:)\d+(?:[-:,]L?\d+)*$/u, '')
    .replaceAll('\\', '/')
    .replace(/^[A-Za-z]:(?=\/)/u, '')
  const local = text.replace(/^file:\/\/(?=\/)/u, '')
  return isWithin(root, local) ? local.slice(root.length) : local
}

/** The path in arguments that were written as one text. */
function pathInJson(text: string): string {
  if (!/^\s*\{/u.test(text)) return text
  try {
    const { path, file_path: file } = JSON.parse(text) as { path?: unknown; file_path?: unknown }
    return [path, file].find((one) => typeof one === 'string') ?? text
  } catch {
    return text
  }
}

const isName = (name: string): boolean => name !== '' && name !== '.'

/**
 * The probable meaning of a path that does not exist: each missing name is replaced by the nearest existing one. `root` is
 * absolute and without links, `kind` is that of the last name.
 */
export async function nearPath(root: string, relative: string, kind: Kind = 'any'): Promise<string | undefined> {
  const names = bare(relative, root).split('/').filter(isName)
  if (names.length === 0 || names.length > MAX_DEPTH || names.includes('..')) return undefined
  const path = await meantPath(root, names, kind)
  return path === undefined || path === relative.split('/').filter(isName).join('/') ? undefined : path
}

/** A file of the same name elsewhere is more often meant than another name that is like it. */
async function meantPath(root: string, names: readonly string[], kind: Kind): Promise<string | undefined> {
  const corrected = (await correctedNames(root, names, kind))?.join('/')
  if (corrected !== undefined && isSpeltLike(names.join('/'), corrected)) return corrected
  const inner = (await innerNames(root, names, kind))?.join('/')
  if (inner !== undefined) return inner
  const [name = ''] = names.slice(-1)
  return (kind === 'directory' ? undefined : await onlyFileNamed(root, name)) ?? corrected
}

/** Whether two paths are one name in another case, or with one letter otherwise. */
const isSpeltLike = (path: string, other: string): boolean =>
  path.toLowerCase() === other.toLowerCase() || nearestName(path, [other], 1) !== undefined

/** How many directories are looked through for a name, how many of them at once, and how deep. */
const MAX_DIRECTORIES = 500
const AT_ONCE = 8
const MAX_SEARCH_DEPTH = 8

/** The path of the file with a name, if there is one alone in the first directories below a root that are neither hidden nor of packages. */
async function onlyFileNamed(root: string, name: string): Promise<string | undefined> {
  let found: string | undefined
  const left = ['']
  let looked = 0
  while (looked < left.length) {
    const some = left.slice(looked, looked + AT_ONCE)
    looked += some.length
    // eslint-disable-next-line no-await-in-loop -- each takes a descriptor of the host
    const all = await Promise.all(some.map(async (path) => ({ path, entries: (await entriesIn(root, path)) ?? [] })))
    for (const { path, entries } of all) {
      const isDeep = path.split('/').length >= MAX_SEARCH_DEPTH
      for (const entry of entries) {
        const below = path === '' ? entry.name : `${path}/${entry.name}`
        if (entry.isDirectory) {
          if (!isDeep && !isHidden(entry) && entry.name !== 'node_modules' && left.length < MAX_DIRECTORIES) left.push(below)
        } else if (entry.name === name) {
          if (found !== undefined) return undefined
          found = below
        }
      }
    }
  }
  return found
}

/** A root without links, or as it is named where it is gone. */
export const realRoot = (rootDir: string): Promise<string> => realpath(rootDir).catch(() => rootDir)

/** Whether a path is that of a file or directory below a root. */
export async function isThere(root: string, path: string): Promise<boolean> {
  const names = path.split('/').filter(isName)
  if (names.length === 0 || names.length > MAX_DEPTH || names.includes('..')) return false
  const entries = await entriesIn(root, names.slice(0, -1).join('/'))
  return entries?.some(({ name }) => name === names.at(-1)) === true
}

/**
 * The end of a path that exists from the root on: `/repo/src/app.ts`, `C:\\project\\src\\app.ts` and `a/src/app.ts` mean `src/app.ts`.
 * A name alone is in many directories.
 */
async function innerNames(root: string, names: readonly string[], kind: Kind): Promise<string[] | undefined> {
  for (let from = 1; from < names.length; from += 1) {
    const inner = names.slice(from)
    const entries = await entriesIn(root, inner.slice(0, -1).join('/'))
    const fits = ({ name, isDirectory }: NearEntry): boolean =>
      name === inner.at(-1) && (kind === 'any' || isDirectory === (kind === 'directory'))
    if (entries?.some(fits) === true) return inner
  }
  return undefined
}

/** What an absolute path that leads out of a root may have meant in it, as a sentence after another; empty if nothing. */
export async function meantInside(rootDir: string, path: unknown): Promise<string> {
  const inner = typeof path === 'string' && path.startsWith('/') ? await innerPath(await realRoot(rootDir), path) : undefined
  return inner === undefined ? '' : ` Did you mean \`${inner}\`?`
}

/** The end of a path that exists below a root, as a path. */
export async function innerPath(root: string, path: string): Promise<string | undefined> {
  const names = bare(path, root).split('/').filter(isName)
  if (names.length > MAX_DEPTH || names.includes('..')) return undefined
  return (await innerNames(root, ['', ...names], 'any'))?.join('/')
}

/** Each missing name replaced by the nearest existing one. */
async function correctedNames(root: string, names: readonly string[], kind: Kind): Promise<string[] | undefined> {
  const corrected: string[] = []
  for (const [index, name] of names.entries()) {
    const entries = await entriesIn(root, corrected.join('/'))
    const kindOfName = index < names.length - 1 ? 'directory' : kind
    const near = entries?.some((entry) => entry.name === name) === true ? name : nearestEntry(name, entries ?? [], kindOfName)
    if (near === undefined) return undefined
    corrected.push(near)
  }
  return corrected
}

/** The nearest name: one that differs only in case, then the one with the fewest changed letters, then one with another extension. */
function nearestEntry(name: string, entries: readonly NearEntry[], kind: Kind): string | undefined {
  const fits = entries.filter(({ isDirectory }) => kind === 'any' || isDirectory === (kind === 'directory'))
  const names = fits.map((entry) => entry.name).sort()
  const stem = stemOf(name)
  return (
    names.find((one) => one.toLowerCase() === name.toLowerCase()) ?? nearestName(name, names) ?? names.find((one) => stemOf(one) === stem)
  )
}

const stemOf = (name: string): string => name.replace(/(?<=.)\.[^.]*$/u, '').toLowerCase()

/** The entries of a directory below a root, hidden ones last; `undefined` if it cannot be read. */
export async function entriesIn(root: string, relative: string): Promise<NearEntry[] | undefined> {
  try {
    const entries = await listed(root, join(root, relative))
    return entries?.sort((a, b) => Number(isHidden(a)) - Number(isHidden(b)) || (a.name < b.name ? -1 : 1))
  } catch {
    return undefined
  }
}

const isHidden = ({ name }: NearEntry): boolean => name.startsWith('.')

/** Opens the directory first, then checks that it lies in the root, so that a swapped link leads nowhere. */
async function listed(root: string, path: string): Promise<NearEntry[] | undefined> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NONBLOCK)
  try {
    const opened = `/proc/self/fd/${directory.fd}`
    const realPath = await realpath(opened).catch(() => undefined)
    if (realPath !== undefined) return isWithin(root, realPath) ? await namesOf(opened) : undefined
    // Without /proc, the path has to lead to the same place before and after.
    const before = await realpath(path)
    if (!isWithin(root, before)) return undefined
    const names = await namesOf(before)
    return (await realpath(before)) === before ? names : undefined
  } finally {
    await directory.close()
  }
}

/** Whether a path is a directory, or below it. Both are absolute and without links. */
export const isWithin = (root: string, path: string): boolean => path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`)

async function namesOf(path: string): Promise<NearEntry[]> {
  const entries: NearEntry[] = []
  for await (const entry of await opendir(path)) {
    // Hints show no names with unprintable characters.
    if (!/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}`\uFFFD]/u.test(entry.name)) entries.push({ name: entry.name, isDirectory: entry.isDirectory() })
    if (entries.length >= MAX_ENTRIES) break
  }
  return entries
}
