/** The directories of a session: those of its host, and those that its manifest declares within them. */
import { realpathSync, statSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { ToolError } from '../../core/errors.js'
import { invalid } from '../../core/options.js'

/** Resolves the links in the path of a directory, so that real paths below it can be compared with it. */
export function realDirectory(option: string, path: string): string {
  const absolute = resolve(path)
  let real: string
  try {
    real = realpathSync(absolute)
  } catch (cause) {
    throw invalid(`${option}: there is no directory ${absolute}.`, { path, cause: String(cause) })
  }
  if (!statSync(real).isDirectory()) throw invalid(`${option}: ${absolute} is no directory.`, { path })
  return real
}

/** The real path of a directory, or the path as written if there is none: for manifests checked on another machine. */
export function directoryOrPath(_option: string, path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}

/** Roots that a manifest declares, and the directories in which it may do so. */
export interface DeclaredRoots {
  /** The name of the list, for messages: `manifest.workspace`. */
  source: string
  /** Absolute, or relative to the first root. */
  declared: readonly string[] | undefined
  /** The roots of the host, without links. */
  roots: readonly string[]
  /** Further directories in which roots may lie, without links. */
  within: readonly string[]
}

/**
 * All roots of a workspace: those of the host, then the declared ones.
 *
 * @throws {ToolError} CONTRACT_MANIFEST_INVALID for a root that is not a directory, or lies outside the host's directories.
 */
export function withDeclaredRoots({ source, declared = [], roots, within }: DeclaredRoots, directory: typeof realDirectory): string[] {
  const all = [...roots]
  const [first] = roots
  for (const [index, path] of declared.entries()) {
    const place = `${source}[${index}]`
    const refused = (problem: string): ToolError => manifestRefused(source, place, problem)
    if (first === undefined && !isAbsolute(path)) throw refused(`\`${path}\` is relative, and no workspace is open`)
    let real: string
    try {
      real = directory(place, resolve(first ?? '/', path))
    } catch (error) {
      throw ToolError.isInstance(error) ? refused(error.summary.slice(place.length + 2).replace(/\.$/u, '')) : error
    }
    if (![...roots, ...within].some((bound) => isWithin(real, bound))) {
      throw refused(
        `\`${path}\` is ${real}, which lies in none of the directories that the host has given: ${[...roots, ...within].join(', ') || 'there are none'}`,
      )
    }
    if (!all.includes(real)) all.push(real)
  }
  return all
}

const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`)

function manifestRefused(source: string, place: string, problem: string): ToolError {
  return new ToolError({
    code: 'CONTRACT_MANIFEST_INVALID',
    summary: `${source} cannot be used`,
    place: `${source} cannot be used: ${place}: ${problem}`,
    hint: 'Correct the manifest, or give the directory in `workspace` or `manifestRoots`; nothing was started.',
    details: { source, place, problem },
  })
}
