/** The files of a root directory, for language servers. */
import { createHash } from 'node:crypto'
import { extname, resolve } from 'node:path'
import { grantedRoot, isForkAsRoot } from '../core/grants.js'
import { call as callAddon, type CallLimits, fileText, filesOfPatch } from '../core/native.js'
import type { ServerHost } from './language-servers.js'
import type { StartServer } from './server-slot.js'

/** The largest source file that a server is shown, in bytes. */
const MAX_SOURCE_BYTES = 2_000_000
/** The most bytes of a list of files, or of the lines that import something. */
const MAX_LIST_BYTES = 20_000_000
const LIST_MS = 10_000
/** What others have written is not checked, even where no rule leaves it out of searches. */
const PACKAGES = /(?:^|\/)(?:node_modules|\.venv|venv)\//u

/** The longest patch whose files are looked at, in bytes. */
const MAX_PATCH_BYTES = 10_485_760

/** The files that a patch changes, as it names them. One that cannot be read has none: its call says why. */
export async function filesChangedBy(patch: unknown): Promise<string[]> {
  if (typeof patch !== 'string') return []
  const files = (await filesOfPatch(patch, MAX_PATCH_BYTES)) ?? []
  return files.flatMap(({ path, movedTo }) => (movedTo === undefined ? path : [path, movedTo]))
}

/** What a host needs besides the files. */
export interface RootHostOptions {
  rootDir: string
  /** The object that grants the root. */
  rootHolder: object
  /** The `PATH` of commands. */
  path: string | undefined
  signal: AbortSignal | undefined
  start: StartServer
  /** As for a question. @default true */
  showsOthers?: boolean | undefined
}

/** A host whose files are those below a root. */
export function rootHost({ rootDir, rootHolder, path, signal, start, showsOthers }: RootHostOptions): ServerHost {
  const root = { rootDir, rootHolder }
  const absolute = (name: string): string => resolve(rootDir, name)
  const limits = (what: string): CallLimits => ({ signal, timeoutMs: LIST_MS, what })
  const everywhere = { path: '.', limitBytes: MAX_LIST_BYTES, timeoutMs: LIST_MS }
  const read = (name: string): Promise<string | undefined> =>
    callAddon(limits(`read ${name}`), (addon, cancel) => addon.read(grantedRoot(addon, root), name, MAX_SOURCE_BYTES, true, cancel)).then(
      fileText,
      () => undefined,
    )
  const contentOf = async (name: string): Promise<string | undefined> => {
    const text = await read(name)
    return text === undefined ? undefined : createHash('sha256').update(text).digest('base64')
  }
  return {
    rootDir,
    path,
    start,
    showsOthers,
    absolute,
    // At the path of a fork, this process sees the directory of which it is one.
    stateOf: isForkAsRoot(rootHolder) ? contentOf : undefined,
    list: async (extensions) => {
      const names = extensions.map((extension) => extension.slice(1))
      const pattern = names.length === 1 ? `*.${names[0]}` : `*.{${names.join(',')}}`
      const { text } = await callAddon(limits('list sources'), (addon, cancel) =>
        addon.glob(grantedRoot(addon, root), { ...everywhere, pattern }, cancel),
      )
      return text.split('\n').flatMap((line) => (line === '' || PACKAGES.test(line) ? [] : absolute(line)))
    },
    read,
    grep: async (pattern, extensions) => {
      const { text } = await callAddon(limits('search imports'), (addon, cancel) =>
        addon.grep(grantedRoot(addon, root), { ...everywhere, pattern }, undefined, cancel),
      )
      const isSource = (line: string): boolean => !PACKAGES.test(line) && extensions.includes(extname(line.slice(0, line.indexOf(':'))))
      return text.split('\n').filter(isSource).join('\n')
    },
  }
}
