/** Directories that commands or file tools may write, as far as options have named them. */
import { realpathSync } from 'node:fs'
import { resolve, sep } from 'node:path'

const places = new Set<string>()
const given = new Set<string>()

/** Notes a directory that calls may write. What is no path is refused where options are checked. */
export function noteWritablePlace(path: unknown): void {
  if (typeof path !== 'string' || given.has(path)) return
  given.add(path)
  places.add(realPath(resolve(path)))
}

/** The noted directory that a path lies in; undefined for none. */
export function writablePlaceOf(path: string): string | undefined {
  const real = realPath(path)
  return [...places].find((place) => isWithin(place, real))
}

/** How many directories are noted: what was asked before holds until it changes. */
export const countPlaces = (): number => places.size

export const isWithin = (place: string, path: string): boolean =>
  path === place || path.startsWith(place.endsWith(sep) ? place : `${place}${sep}`)

export function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
