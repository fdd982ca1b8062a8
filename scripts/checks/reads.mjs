// Which files of ts/ open files or list directories by node:fs. In a place that a command can write, that follows links,
// waits for a pipe, and has no bound, so the addon reads there. What is left is named here, each with its reason.

/** Functions that open or list. Those that ask for attributes wait for nothing. */
const OPENS =
  /^(?:open|openSync|openAsBlob|opendir|opendirSync|readdir|readdirSync|readFile|readFileSync|createReadStream|cp|cpSync|copyFile|copyFileSync|glob|globSync|promises|default)$/

const READERS = {
  'ts/cli/audit/changed-files.ts': 'lists directories for a person, and opens no file',
  'ts/cli/doctor.ts': 'a file that the person names on the command line',
  'ts/cli/program.ts': "the package's own manifest",
  'ts/contract/call/session-directory.ts': 'opened without links and waiting, then asked whether it is a file; parts of a bounded size',
  'ts/contract/session/scratch.ts': 'opened without links and waiting, then asked whether it is a file',
  'ts/contract/skills/bounded-names.ts': 'the names in a directory, up to a bound',
  'ts/contract/skills/skill-file.ts': 'opened without links and waiting, then asked whether it is a file; of a bounded size',
  'ts/contract/testing/host-access.ts': 'a suite for tests: it shows what a command could read',
  'ts/core/addon.ts': "the system's own program",
  'ts/core/load-failure.ts': "the addon's own file, and the system's loader",
  'ts/core/near-paths.ts': 'directories, opened without waiting and asked where they are; names up to a bound',
  'ts/core/private-addon.ts': "a copy of the addon, in the host's own directory",
  'ts/documents/programs.ts': 'texts of programs that run in the sandbox, and read their input',
  'ts/postgres/archive/parquet-file.ts': 'makes files of the person who archives',
  'ts/postgres/threads/attachment-export.ts': 'makes a file of the person who exports',
  'ts/report/page-html.ts': "the package's own script and style",
  'ts/sandbox/session-files.ts': "makes a file in the host's own directory",
  'ts/standard-agents/discovery/tool-files.ts': "the host's own modules, which it imports: no command may write them",
  'ts/standard-agents/testing/attachment-cases.ts': 'a suite for tests, in a directory of its own',
}

const NAMED = /import\s+(type\s+)?([^'"]*?)\s*from\s*['"](?:node:)?fs(?:\/promises)?['"]/g
const MODULE = /['"](?:node:)?fs(?:\/promises)?['"]/

/** Whether a source can open files by node:fs. */
export function opensFiles(source) {
  const code = source.replaceAll(/^\s*(?:\*|\/\/).*$/gm, '')
  let opens = false
  const rest = code.replaceAll(NAMED, (_, isType, what) => {
    if (isType !== undefined) return ''
    const names = /\{([^}]*)\}/.exec(what)?.[1] ?? ''
    const outside = what
      .replace(/\{[^}]*\}/, '')
      .replaceAll(',', '')
      .trim()
    const values = names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '' && !name.startsWith('type '))
    // The module as a whole, by whatever name.
    opens ||= outside !== '' || values.some((name) => OPENS.test(name.split(/\s+as\s+/)[0]))
    return ''
  })
  return opens || MODULE.test(rest)
}

/** The files of `ts/` that read and are not named, and names of files that do not. */
export function* unknownReaders(files, read) {
  const readers = new Set(Object.keys(READERS))
  for (const file of files) {
    if (!/^ts\/.*\.tsx?$/.test(file)) continue
    const opens = opensFiles(read(file))
    if (opens && !readers.delete(file)) {
      yield `${file}: opens files by node:fs; where a command can write, the addon reads (scripts/checks/reads.mjs)`
    }
  }
  for (const file of readers) yield `scripts/checks/reads.mjs: ${file} opens no files; take it off the list`
}
