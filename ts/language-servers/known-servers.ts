/** The language servers that are known by name: their files, and how they are started where they are installed. */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'

/** A language server, as a host configures it. */
export interface LanguageServerConfig {
  /** Its program and arguments. A relative path with a slash begins in the root directory; a name is looked up in the `PATH` of commands. */
  command: readonly string[]
  /** Its languages: the protocol's language ids by file extension, such as `{ '.ts': 'typescript' }`. */
  languages: Readonly<Record<string, string>>
  /** The `initializationOptions` of the protocol. @default none */
  initializationOptions?: unknown
  /** Its settings by section, as it asks for them. @default none */
  settings?: Readonly<Record<string, unknown>> | undefined
}

/** The server that checks the files of a language. */
export interface LanguageServer extends LanguageServerConfig {
  name: string
}

/** The name of a server that is found by itself. */
export type KnownServer = 'typescript' | 'python' | 'rust' | 'go' | 'c'

/** Where a server is looked for. */
export interface SearchPlace {
  rootDir: string
  /** The `PATH` of commands. */
  path: string | undefined
}

interface KnownRow {
  languages: Readonly<Record<string, string>>
  initializationOptions?: unknown
  settings?: Readonly<Record<string, unknown>>
  /** The command of the first that is installed. */
  find(place: SearchPlace): readonly string[] | undefined
}

const same = (id: string, extensions: string): Record<string, string> =>
  Object.fromEntries(extensions.split(' ').map((extension) => [extension, id]))

const known: Readonly<Record<KnownServer, KnownRow>> = {
  typescript: {
    languages: {
      ...same('typescript', '.ts .mts .cts'),
      ...same('typescriptreact', '.tsx'),
      ...same('javascript', '.js .mjs .cjs'),
      ...same('javascriptreact', '.jsx'),
    },
    find: (place) => {
      // From version 7 on, the compiler is a server too.
      const compiler = programsOf(place, 'tsc').find((path) => isFile(join(dirname(path), '../typescript/lib/getExePath.js')))
      if (compiler !== undefined) return [compiler, '--lsp', '--stdio']
      return started(place, ['typescript-language-server', '--stdio'])
    },
  },
  python: {
    languages: same('python', '.py .pyi'),
    find: (place) => started(place, ['basedpyright-langserver', '--stdio'], ['pyright-langserver', '--stdio'], ['pylsp']),
  },
  rust: {
    languages: same('rust', '.rs'),
    // A build per change reports the whole project, with nothing to compare it with.
    initializationOptions: { checkOnSave: false },
    find: (place) => started(place, ['rust-analyzer']),
  },
  go: {
    languages: same('go', '.go'),
    // Without a cache that it may write, it says of every text that there is nothing wrong.
    find: (place) => {
      const found = started(place, ['gopls'])
      return found && ['env', 'XDG_CACHE_HOME=/tmp/toolwright-gopls', ...found]
    },
  },
  c: {
    languages: { ...same('c', '.c'), ...same('cpp', '.h .cc .cpp .cxx .hh .hpp .hxx') },
    find: (place) => started(place, ['clangd', '--background-index=false', '--clang-tidy=false', '--limit-results=200']),
  },
}

/** The names of the servers that are found by themselves. */
export const knownServers = Object.keys(known) as KnownServer[]

/** Whether a name is that of a known server. */
export const isKnownServer = (name: string): name is KnownServer => Object.hasOwn(known, name)

/** The languages of a known server. */
export const languagesOf = (name: KnownServer): Readonly<Record<string, string>> => known[name].languages

/** A known server where it is installed: in the project, or in the `PATH` of commands. Nothing is downloaded. */
export function installedServer(name: KnownServer, place: SearchPlace): LanguageServer | undefined {
  const { languages, initializationOptions, settings, find } = known[name]
  const command = find(place)
  return command === undefined ? undefined : { name, command, languages, initializationOptions, settings }
}

/** Where a project, or one around it, keeps the programs of its packages. */
const DIRECTORIES = ['node_modules/.bin', '.venv/bin', 'venv/bin']

function started(place: SearchPlace, ...commands: readonly (readonly [string, ...string[]])[]): readonly string[] | undefined {
  for (const [name, ...args] of commands) {
    const program = programsOf(place, name)[0] ?? (inPath(place, name) ? name : undefined)
    if (program !== undefined) return [program, ...args]
  }
  return undefined
}

/** The paths of a program in the project, the nearest first. */
function programsOf({ rootDir }: SearchPlace, name: string): string[] {
  const programs: string[] = []
  for (let at = rootDir; ; at = dirname(at)) {
    programs.push(...DIRECTORIES.map((directory) => join(at, directory, name)).filter(isProgram))
    if (dirname(at) === at) return programs
  }
}

function inPath({ path = '' }: SearchPlace, name: string): boolean {
  return path.split(delimiter).some((directory) => isAbsolute(directory) && isProgram(join(directory, name)))
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return isFile(path)
  } catch {
    return false
  }
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true
