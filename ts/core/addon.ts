/** Where the addon is, and how it is loaded: in an installation, in a checkout, and in or beside a bundle. */
import type * as Addon from '../../index.js'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ToolError } from './errors.js'
import { forgetCopy, privateCopy } from './private-addon.js'
import { isCutOff, loadFailure } from './load-failure.js'
import { missingHint, unavailable, unsupportedBecause } from './platform.js'

const VARIABLE = 'NAPI_RS_NATIVE_LIBRARY_PATH'

/** The file of this module, or of the bundle that holds it. A bundle in CommonJS has no `import.meta`. */
export function ownFile(): string {
  return isCommonJs() ? __filename : fileURLToPath(import.meta.url)
}

const isCommonJs = (): boolean => (import.meta.url as string | undefined) === undefined

/**
 * The addon of this process.
 *
 * @throws {ToolError} NATIVE_UNAVAILABLE.
 */
export async function loadAddon(): Promise<typeof Addon> {
  const unsupported = unsupportedBecause(process)
  if (unsupported !== undefined) throw unavailable(unsupported.summary, unsupported.hint)
  const named = namedFile()
  const file = named ?? findAddon()
  if (file !== undefined && isCutOff(file)) throw missing(named, new Error(`${file}: file too short`))
  const held = file === undefined ? undefined : loadPrivately(file)
  if (held !== undefined) return held
  try {
    // The generated loader takes longer to read than the addon to load, and would find this file.
    if (file !== undefined) return requireFile(file)
    if (isCommonJs()) return requireFile(addonPath())
    return await importAddon()
  } catch (cause) {
    throw missing(named, cause)
  }
}

/**
 * The same without waiting, for a check that a call makes before anything else.
 *
 * @throws {ToolError} NATIVE_UNAVAILABLE.
 */
export function loadAddonNow(): typeof Addon {
  const file = addonPath()
  try {
    return loadPrivately(file) ?? requireFile(file)
  } catch (cause) {
    throw missing(namedFile(), cause)
  }
}

/** The addon from a copy that no command can write. `undefined`, where its file is out of reach, or the copy cannot be loaded. */
function loadPrivately(file: string): typeof Addon | undefined {
  const copy = privateCopy(file)
  if (copy === undefined) return undefined
  const loaded: { exports: unknown } = { exports: {} }
  try {
    process.dlopen(loaded, copy)
    return loaded.exports as typeof Addon
  } catch {
    // A directory for temporary files may let no program be mapped.
    forgetCopy(copy)
    return undefined
  }
}

/** By the generated loader, which knows more names of packages than this module. */
async function importAddon(): Promise<typeof Addon> {
  // Bun imports a CommonJS module here (`imports` in package.json), which is the default export.
  const loaded: typeof Addon & { default?: typeof Addon } = await import('#native')
  return loaded.default ?? loaded
}

/**
 * The path of the addon for this platform, a file that ends in `.node`, for packaging a program: an asset of a single
 * executable, a file to copy beside a bundle, or a value for `NAPI_RS_NATIVE_LIBRARY_PATH`. It does not load the addon.
 *
 * The search takes the file in `NAPI_RS_NATIVE_LIBRARY_PATH` if that is set. Otherwise it looks in the package's own folder
 * (a checkout), beside this module or its bundle, and in the installed platform package.
 *
 * @throws {ToolError} NATIVE_UNAVAILABLE if the platform is not supported, or no file is found.
 * @example
 * ```ts
 * import { copyFileSync } from 'node:fs'
 * import { basename, join } from 'node:path'
 * import { addonPath } from 'toolwright/addon'
 *
 * copyFileSync(addonPath(), join('out', basename(addonPath())))
 * ```
 */
export function addonPath(): string {
  const unsupported = unsupportedBecause(process)
  if (unsupported !== undefined) throw unavailable(unsupported.summary, unsupported.hint)
  const named = namedFile()
  if (named !== undefined) {
    if (existsSync(named)) return named
    throw missing(named, undefined)
  }
  const path = findAddon()
  if (path === undefined) throw missing(undefined, undefined)
  return path
}

function findAddon(): string | undefined {
  const name = platformName()
  const own = ownFile()
  for (const folder of [resolve(dirname(own), '../..'), dirname(own)]) {
    const file = resolve(folder, `toolwright.${name}.node`)
    if (existsSync(file)) return file
  }
  try {
    // The package's main file is the addon.
    return createRequire(own).resolve(`toolwright-${name}`)
  } catch {
    return undefined
  }
}

/** The host's file, relative to the working directory. An empty name counts as none. */
function namedFile(): string | undefined {
  const named = process.env[VARIABLE]
  return named === undefined || named === '' ? undefined : resolve(named)
}

function requireFile(path: string): typeof Addon {
  return createRequire(path)(path) as typeof Addon
}

function missing(named: string | undefined, cause: unknown): ToolError {
  const failure = loadFailure(cause)
  if (named === undefined) {
    const part = `The native part of toolwright for ${process.platform} ${process.arch}`
    if (failure !== undefined) return unavailable(`${part} ${failure.problem}`, failure.hint, cause)
    return unavailable(`${part} is not installed`, missingHint(isCommonJs() ? undefined : import.meta.url), cause)
  }
  const why = existsSync(named) ? (failure?.problem ?? 'cannot be loaded') : 'does not exist'
  const hint = `Set it to the \`.node\` file of this platform's package (\`addonPath()\` of toolwright/addon), or unset it.`
  return unavailable(`${VARIABLE} names ${named}, which ${why}`, hint, cause)
}

/** The name of this platform's package, after `toolwright-`. */
function platformName(): string {
  const libc = process.platform === 'linux' ? (usesMusl() ? '-musl' : '-gnu') : ''
  return `${process.platform}-${process.arch}${libc}`
}

/** Detects the platform as the generated `index.js` does. */
function usesMusl(): boolean {
  try {
    return readFileSync('/usr/bin/ldd', 'utf8').includes('musl')
  } catch {
    const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined
    return report?.header?.glibcVersionRuntime === undefined
  }
}
