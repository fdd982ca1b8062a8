/** Which files may depend on another one, by the texts of their imports. Too many is harmless: they are checked for nothing. */
import { basename, dirname, extname } from 'node:path'

/** Lines that import something, as a regular expression for a search, by the language. */
const importLines: Readonly<Record<string, string>> = {
  typescript: String.raw`(\bfrom|\bimport|\brequire)\s*\(?\s*['"]`,
  python: String.raw`^\s*(from|import)\s+[\w.]`,
  c: String.raw`^\s*#\s*include\s*["<]`,
}

/** The expression for the files of a server; `undefined` where imports do not name files. */
export const importPattern = (server: string): string | undefined => importLines[server]

/** Files by the names that they import. */
export class ImportGraph {
  readonly #importers = new Map<string, Set<string>>()

  /** @param found lines of `path:line:text`, and the directory that their paths begin in. */
  constructor(found: string, absolute: (path: string) => string) {
    for (const line of found.split('\n')) {
      const match = /^(.+?):\d+:(.*)$/u.exec(line)
      if (match === null) continue
      const [, path = '', text = ''] = match
      for (const name of importedNames(text)) {
        const importers = this.#importers.get(name) ?? new Set()
        this.#importers.set(name, importers.add(absolute(path)))
      }
    }
  }

  /** The files that may depend on these, the nearest first, without these. `near` of them import one directly. */
  dependents(paths: readonly string[], most: number): { paths: string[]; near: number; left: number } {
    const seen = new Set(paths)
    const all: string[] = []
    let level = [...paths]
    let near: number | undefined
    while (level.length > 0) {
      const next = new Set<string>()
      for (const path of level) for (const importer of this.#importers.get(nameOf(path)) ?? []) if (!seen.has(importer)) next.add(importer)
      for (const path of next) seen.add(path)
      level = [...next]
      all.push(...level)
      near ??= all.length
    }
    return { paths: all.slice(0, most), near: Math.min(near ?? 0, most), left: Math.max(all.length - most, 0) }
  }
}

/** The names that a line imports: the last part of each path in quotes, without its extension, and each part of a Python module. */
function importedNames(text: string): string[] {
  const quoted = [...text.matchAll(/['"<]([^'"<>]+)['">]/gu)].map(([, specifier = '']) => nameOf(specifier))
  if (quoted.length > 0) return quoted
  return text.match(/[\w]+/gu) ?? []
}

/** The name by which a file is imported: that of its directory, if it stands for that. */
function nameOf(path: string): string {
  const name = basename(path).slice(0, -extname(path).length || undefined)
  return ['index', '__init__', 'mod'].includes(name) ? basename(dirname(path)) : name
}
