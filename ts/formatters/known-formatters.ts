/** The formatters that a project has: by its own files, for the extension of a file. */
import { posix } from 'node:path'

/** A formatter that prints the text that it reads. */
export interface Formatter {
  name: string
  /** Its program, from the root directory or the `PATH` of commands, and its arguments. */
  command: readonly string[]
}

/** What is known of a project. Paths begin at its root. */
export interface ProjectFiles {
  /** The text of a file; `undefined` if it is not there, or is too large. */
  read(path: string): Promise<string | undefined>
  /** Whether there is a file. */
  has(path: string): Promise<boolean>
}

interface KnownRow {
  name: string
  extensions: ReadonlySet<string>
  /** Whether the project has chosen it. */
  isChosen(files: ProjectFiles): Promise<boolean>
  command(path: string, files: ProjectFiles): Promise<readonly string[]>
}

const of = (extensions: string): ReadonlySet<string> => new Set(extensions.split(' '))

const scripts = '.js .mjs .cjs .jsx .ts .mts .cts .tsx'
const web = `${scripts} .json .jsonc .json5 .css .scss .less .html .vue .md .mdx .yaml .yml .graphql`

/** The program of a package in the project. */
const bin = (name: string): string => `./node_modules/.bin/${name}`

/** Whether the project lists a package, and has it installed. */
async function installs(files: ProjectFiles, name: string, program: string): Promise<boolean> {
  const text = await files.read('package.json')
  if (text === undefined || !text.includes(JSON.stringify(name))) return false
  return (await files.has(`node_modules/.bin/${program}`)) && dependenciesOf(text).has(name)
}

function dependenciesOf(text: string): ReadonlySet<string> {
  try {
    const { dependencies, devDependencies } = JSON.parse(text) as Partial<Record<string, unknown>>
    return new Set([dependencies, devDependencies].flatMap((some) => (typeof some === 'object' && some !== null ? Object.keys(some) : [])))
  } catch {
    return new Set()
  }
}

const hasAny = async (files: ProjectFiles, ...paths: string[]): Promise<boolean> =>
  (await Promise.all(paths.map((path) => files.has(path)))).includes(true)

/** Whether a file of settings has a section for a tool. */
const hasSection = async (files: ProjectFiles, path: string, section: string): Promise<boolean> =>
  (await files.read(path))?.split('\n').some((line) => line.startsWith(`[${section}`)) === true

/** The first that a project has chosen formats. */
const known: readonly KnownRow[] = [
  {
    name: 'biome',
    extensions: of(`${scripts} .json .jsonc .css .graphql`),
    isChosen: (files) => installs(files, '@biomejs/biome', 'biome'),
    command: async (path) => [bin('biome'), 'format', `--stdin-file-path=${path}`],
  },
  {
    name: 'oxfmt',
    extensions: of(web),
    isChosen: (files) => installs(files, 'oxfmt', 'oxfmt'),
    command: async (path) => [bin('oxfmt'), `--stdin-filepath=${path}`],
  },
  {
    name: 'dprint',
    extensions: of(`${web} .toml`),
    isChosen: async (files) => (await installs(files, 'dprint', 'dprint')) && hasAny(files, 'dprint.json', 'dprint.jsonc', '.dprint.json'),
    command: async (path) => [bin('dprint'), 'fmt', '--stdin', path],
  },
  {
    name: 'prettier',
    extensions: of(web),
    isChosen: (files) => installs(files, 'prettier', 'prettier'),
    command: async (path) => [bin('prettier'), `--stdin-filepath=${path}`],
  },
  {
    name: 'gofmt',
    extensions: of('.go'),
    isChosen: (files) => files.has('go.mod'),
    command: async () => ['gofmt'],
  },
  {
    name: 'rustfmt',
    extensions: of('.rs'),
    isChosen: (files) => files.has('Cargo.toml'),
    command: async (_, files) => {
      const edition = /^edition\s*=\s*"(\d{4})"/mu.exec((await files.read('Cargo.toml')) ?? '')?.[1]
      return ['rustfmt', '--quiet', '--emit', 'stdout', '--edition', edition ?? '2021']
    },
  },
  {
    name: 'ruff',
    extensions: of('.py .pyi'),
    isChosen: async (files) => (await hasAny(files, 'ruff.toml', '.ruff.toml')) || hasSection(files, 'pyproject.toml', 'tool.ruff'),
    command: async (path) => ['ruff', 'format', '--quiet', `--stdin-filename=${path}`, '-'],
  },
  {
    name: 'black',
    extensions: of('.py .pyi'),
    isChosen: (files) => hasSection(files, 'pyproject.toml', 'tool.black'),
    command: async (path) => ['black', '--quiet', `--stdin-filename=${path}`, '-'],
  },
  {
    name: 'clang-format',
    extensions: of('.c .h .cc .cpp .cxx .hh .hpp .m .mm'),
    isChosen: (files) => hasAny(files, '.clang-format', '_clang-format'),
    command: async (path) => ['clang-format', `--assume-filename=${path}`],
  },
]

/** The formatter that the project has for a file; `undefined` if it has none. @param path from the root */
export async function formatterOf(path: string, files: ProjectFiles): Promise<Formatter | undefined> {
  const extension = posix.extname(path)
  for (const { name, extensions, isChosen, command } of known) {
    // eslint-disable-next-line no-await-in-loop -- the first that is chosen
    if (extensions.has(extension) && (await isChosen(files))) return { name, command: await command(path, files) }
  }
  return undefined
}
