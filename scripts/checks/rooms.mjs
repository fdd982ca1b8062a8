// Who may import whom in ts/. A room imports only rooms below it.
import { dirname, join, normalize } from 'node:path'

/** Each room, and the rooms below it that it may import. Entry points, at the root of `ts/`, may import any. */
const BELOW = {
  'ts/core': [],
  'ts/language-servers': ['ts/core'],
  'ts/documents': ['ts/core'],
  'ts/formatters': ['ts/core'],
  'ts/journal': ['ts/core'],
  'ts/fork': ['ts/core', 'ts/journal'],
  'ts/toolkit': ['ts/core', 'ts/journal', 'ts/language-servers', 'ts/documents', 'ts/formatters', 'ts/fork'],
  'ts/providers': ['ts/core', 'ts/journal', 'ts/toolkit', 'ts/documents', 'ts/language-servers'],
  'ts/sandbox': ['ts/core', 'ts/journal', 'ts/fork', 'ts/toolkit'],
  'ts/contract': ['ts/core', 'ts/journal', 'ts/language-servers', 'ts/documents', 'ts/formatters', 'ts/fork'],
  // A tool of Standard Agents can be made one of the contract (`toContractTool`).
  'ts/standard-agents': ['ts/core', 'ts/journal', 'ts/contract', 'ts/documents'],
  // Threads have a store there, too.
  'ts/postgres': ['ts/core', 'ts/journal', 'ts/standard-agents'],
  // Calls of an engine's steps.
  'ts/durable': ['ts/core', 'ts/journal', 'ts/toolkit'],
  'ts/report': ['ts/core', 'ts/journal'],
  'ts/mcp-server': ['ts/core', 'ts/journal', 'ts/fork', 'ts/contract'],
  // It runs in a browser: no value of it may come from a room that needs Node.
  'ts/report/page': ['ts/report'],
  // The spans of a journal have the fields of its report.
  'ts/otel': ['ts/core', 'ts/journal', 'ts/report'],
  'ts/cli': [
    'ts/core',
    'ts/language-servers',
    'ts/journal',
    'ts/fork',
    'ts/toolkit',
    'ts/contract',
    'ts/report',
    'ts/otel',
    'ts/mcp-server',
    'ts/postgres',
  ],
}

/** The folders of a room in which a folder imports only those before it. */
const ORDER = {
  'ts/contract': [
    'registry',
    'web',
    'mcp',
    'skills',
    'permissions',
    'tools',
    'agents',
    'watchdogs',
    'journal',
    'call',
    'session',
    'acp',
    'testing',
  ],
}

const IMPORT = /(?:\bfrom|\bimport\s*\(|\bimport)\s*['"](\.[^'"]+)['"]/g

const isWithin = (room, file) => file.startsWith(`${room}/`)
const isEntry = (file) => dirname(file) === 'ts'
/** The room of a file: the deepest one that BELOW names. */
const roomOf = (file) =>
  Object.keys(BELOW)
    .filter((room) => isWithin(room, file))
    .sort((a, b) => b.length - a.length)[0]

/** The files of `ts/` that a file imports, also those whose types alone it imports, and those that it loads when it needs them. */
function* importedBy(file, read) {
  for (const [, specifier] of read(file).matchAll(IMPORT)) {
    const target = normalize(join(dirname(file), specifier)).replace(/\.jsx?$/, (suffix) => suffix.replace('j', 't'))
    if (target.startsWith('ts/')) yield target
  }
}

/** Every import that leads up or across, and every file outside the rooms. */
export function* importsAgainstTheOrder(files, read) {
  for (const file of files) {
    if (!/^ts\/.*\.tsx?$/.test(file) || isEntry(file)) continue
    const room = roomOf(file)
    if (room === undefined) {
      yield `${file}: in no room; scripts/checks/rooms.mjs names them`
      continue
    }
    for (const target of importedBy(file, read)) {
      if (isWithin(room, target) && roomOf(target) === room) {
        const [from, to] = [file, target].map((path) => ORDER[room]?.indexOf(path.slice(room.length + 1).split('/')[0]) ?? 0)
        if (from === -1 || to > from) yield `${file}: a folder of ${room} may not import ${target}`
        continue
      }
      if (!isEntry(target) && BELOW[room].includes(roomOf(target))) continue
      yield `${file}: ${room} may not import ${target}`
    }
  }
}

/** Every circle of imports in `ts/`. A circle of types is one too: its files can only be understood together. */
export function* circlesOfImports(files, read) {
  const sources = new Set(files.filter((file) => /^ts\/.*\.tsx?$/.test(file)))
  const finished = new Set()
  const path = []
  function* visit(file) {
    if (finished.has(file)) return
    const start = path.indexOf(file)
    if (start !== -1) {
      yield `${[...path.slice(start), file].join(' -> ')}: a circle of imports`
      return
    }
    path.push(file)
    for (const target of importedBy(file, read)) {
      // A file that the build writes imports nothing.
      if (sources.has(target)) yield* visit(target)
    }
    path.pop()
    finished.add(file)
  }
  for (const file of sources) yield* visit(file)
}
