/** What lies near a path that cannot be used, for the hint of an error. Nothing outside of the root is looked at. */
import { constants } from 'node:fs'
import { open, opendir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { nearestName } from './nearest-name.js'

/** A name in a directory. */
export interface NearEntry {
  name: string
  isDirectory: boolean
}

/** A directory that holds more is known by its first entries. */
const MOST_ENTRIES = 5_000
/** Paths of more names are not corrected. */
const DEEPEST = 32

/**
 * The path that was probably meant by one that does not exist: each of its names that is not there replaced by the nearest
 * one that is. Nothing where there is none.
 *
 * @param root absolute and without links.
 * @param relative the path, relative to the root.
 * @param wanted what its last name should be.
 */
export async function nearPath(root: string, relative: string, wanted: 'file' | 'directory' | 'any' = 'any'): Promise<string | undefined> {
  const names = relative.split('/').filter((name) => name !== '' && name !== '.')
  if (names.length === 0 || names.length > DEEPEST || names.includes('..')) return undefined
  const found: string[] = []
  for (const [index, name] of names.entries()) {
    const entries = await entriesIn(root, found.join('/'))
    const kind = index < names.length - 1 ? 'directory' : wanted
    const near = entries?.some((entry) => entry.name === name) === true ? name : nearestEntry(name, entries ?? [], kind)
    if (near === undefined) return undefined
    found.push(near)
  }
  const path = found.join('/')
  return path === names.join('/') ? undefined : path
}

/** By the fewest changes of letters, else the one that differs in its ending or in the case of its letters alone. */
function nearestEntry(name: string, entries: readonly NearEntry[], wanted: 'file' | 'directory' | 'any'): string | undefined {
  const fits = entries.filter(({ isDirectory }) => wanted === 'any' || isDirectory === (wanted === 'directory'))
  const names = fits.map((entry) => entry.name).sort()
  const stem = stemOf(name)
  return (
    names.find((one) => one.toLowerCase() === name.toLowerCase()) ?? nearestName(name, names) ?? names.find((one) => stemOf(one) === stem)
  )
}

const stemOf = (name: string): string => name.replace(/(?<=.)\.[^.]*$/u, '').toLowerCase()

/** The entries of a directory below a root, those with a dot in front last. Nothing where they cannot be told. */
export async function entriesIn(root: string, relative: string): Promise<NearEntry[] | undefined> {
  try {
    const entries = await listed(root, join(root, relative))
    return entries?.sort((a, b) => Number(isHidden(a)) - Number(isHidden(b)) || (a.name < b.name ? -1 : 1))
  } catch {
    return undefined
  }
}

const isHidden = ({ name }: NearEntry): boolean => name.startsWith('.')

/** What is listed is what was opened, and what was opened lies in the root: a link that is swapped meanwhile leads nowhere. */
async function listed(root: string, path: string): Promise<NearEntry[] | undefined> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NONBLOCK)
  try {
    const opened = `/proc/self/fd/${directory.fd}`
    const place = await realpath(opened).catch(() => undefined)
    if (place !== undefined) return isWithin(root, place) ? await namesOf(opened) : undefined
    // Without /proc the path has to lead to the same place before and after.
    const before = await realpath(path)
    if (!isWithin(root, before)) return undefined
    const names = await namesOf(before)
    return (await realpath(before)) === before ? names : undefined
  } finally {
    await directory.close()
  }
}

const isWithin = (root: string, place: string): boolean => place === root || place.startsWith(root.endsWith('/') ? root : `${root}/`)

async function namesOf(path: string): Promise<NearEntry[]> {
  const entries: NearEntry[] = []
  for await (const entry of await opendir(path)) {
    // A name that cannot be shown helps nobody.
    if (!/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}`\uFFFD]/u.test(entry.name)) entries.push({ name: entry.name, isDirectory: entry.isDirectory() })
    if (entries.length >= MOST_ENTRIES) break
  }
  return entries
}
