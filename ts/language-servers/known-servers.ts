/** The language servers that are known by name: their files, and how they are started where they are installed. */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

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
  /** The text of a file below the root; `undefined` if it is none, or too large. */
  read(path: string): Promise<string | undefined>
}

interface KnownRow {
  languages: Readonly<Record<string, string>>
  settings?: Readonly<Record<string, unknown>>
  /** The command of the first that is installed. */
  find(place: SearchPlace): Promise<readonly string[] | undefined>
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
    find: async (place) => {
      // From version 7 on, the compiler is a server too.
      if ((await majorOf(place, 'typescript')) >= 7) {
        const compiler = programOf(place, 'tsc', PROJECT)
        if (compiler !== undefined) return [compiler, '--lsp', '--stdio']
      }
      return started(place, ['typescript-language-server', '--stdio'])
    },
  },
  python: {
    languages: same('python', '.py .pyi'),
    find: async (place) => started(place, ['basedpyright-langserver', '--stdio'], ['pyright-langserver', '--stdio'], ['pylsp']),
  },
  rust: { languages: same('rust', '.rs'), find: async (place) => started(place, ['rust-analyzer']) },
  go: {
    languages: same('go', '.go'),
    find: async (place) => started(place, ['gopls']),
  },
  c: {
    languages: { ...same('c', '.c'), ...same('cpp', '.h .cc .cpp .cxx .hh .hpp .hxx') },
    find: async (place) => started(place, ['clangd', '--background-index=false', '--clang-tidy=false', '--limit-results=200']),
  },
}

/** The names of the servers that are found by themselves. */
export const knownServers = Object.keys(known) as KnownServer[]

/** Whether a name is that of a known server. */
export const isKnownServer = (name: string): name is KnownServer => Object.hasOwn(known, name)

/** The languages of a known server. */
export const languagesOf = (name: KnownServer): Readonly<Record<string, string>> => known[name].languages

/** A known server where it is installed: in the project, or in the `PATH` of commands. Nothing is downloaded. */
export async function installedServer(name: KnownServer, place: SearchPlace): Promise<LanguageServer | undefined> {
  const { languages, settings, find } = known[name]
  const command = await find(place)
  return command === undefined ? undefined : { name, command, languages, settings }
}

/** Where a project keeps the programs of its packages. */
const PROJECT = ['node_modules/.bin', '.venv/bin', 'venv/bin']

function started(place: SearchPlace, ...commands: readonly (readonly [string, ...string[]])[]): readonly string[] | undefined {
  for (const [name, ...args] of commands) {
    const program = programOf(place, name, PROJECT) ?? (inPath(place, name) ? name : undefined)
    if (program !== undefined) return [program, ...args]
  }
  return undefined
}

/** The path of a program in one of the directories below the root. */
function programOf({ rootDir }: SearchPlace, name: string, directories: readonly string[]): string | undefined {
  return directories.map((directory) => join(rootDir, directory, name)).find(isProgram)
}

function inPath({ path = '' }: SearchPlace, name: string): boolean {
  return path.split(delimiter).some((directory) => isAbsolute(directory) && isProgram(join(directory, name)))
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** The major version of a package of the project; 0 if it has none. */
async function majorOf({ rootDir, read }: SearchPlace, name: string): Promise<number> {
  try {
    const { version } = JSON.parse((await read(join(rootDir, 'node_modules', name, 'package.json'))) ?? '') as { version?: unknown }
    return Number.parseInt(String(version), 10) || 0
  } catch {
    return 0
  }
}
