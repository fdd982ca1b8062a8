/**
 * Code of this package and of optional packages that is loaded when it is first needed. Where the package lies below a directory that
 * calls may write, all of it is loaded before the first of them: what a command has written there is never loaded.
 */
import { ownFile } from './addon.js'
import { countPlaces, writablePlaceOf } from './writable-places.js'

const waiting = new Set<() => Promise<unknown>>()
let isHeld = false
/** Until all is loaded. */
let holding: Promise<void> | undefined
let asked = 0

/**
 * A module, or something else of the package's files, that is loaded at the first use. A failure is final once the code is held: what was
 * not installed then may be a command's.
 */
export function loadLate<Loaded>(load: () => Promise<Loaded>): () => Promise<Loaded> {
  let loading: Promise<Loaded> | undefined
  const get = (): Promise<Loaded> => {
    waiting.delete(get)
    if (loading !== undefined) return loading
    const begun = load()
    // A failure reaches whoever uses the module.
    begun.catch(() => {
      if (!isHeld) loading = undefined
    })
    return (loading = begun)
  }
  waiting.add(get)
  return get
}

/**
 * Loads what is loaded late, if this package lies in a directory that calls may write. To be awaited before each call that may; `undefined`
 * says that there is nothing to wait for.
 */
export function holdCode(): Promise<void> | undefined {
  if (holding !== undefined) return holding
  if (isHeld) return waiting.size === 0 ? undefined : hold()
  if (asked === countPlaces()) return undefined
  asked = countPlaces()
  if (writablePlaceOf(ownFile()) === undefined) return undefined
  return hold()
}

function hold(): Promise<void> {
  // A module that fails from now on fails for good.
  isHeld = true
  return (holding = loadAll().finally(() => (holding = undefined)))
}

async function loadAll(): Promise<void> {
  // Modules that are loaded may have modules of their own that are loaded late.
  while (waiting.size > 0) await Promise.allSettled([...waiting].map((load) => load()))
}
