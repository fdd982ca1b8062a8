// Who may import whom in ts/. A room imports only rooms below it.
import { dirname, join, normalize } from 'node:path'

/** Each room, and the rooms below it that it may import. Entry points, at the root of `ts/`, may import any. */
const BELOW = {
  'ts/core': [],
  'ts/journal': ['ts/core'],
  'ts/toolkit': ['ts/core', 'ts/journal'],
  'ts/contract': ['ts/core', 'ts/journal'],
  // A tool of Standard Agents can be made one of the contract (`toContractTool`).
  'ts/standard-agents': ['ts/core', 'ts/journal', 'ts/contract'],
  'ts/cli': ['ts/core', 'ts/journal', 'ts/toolkit'],
}

/** What still breaks the order, as `from → to`. The list only gets shorter: an entry that is not needed fails the check. */
const EXCEPTIONS = [
  'ts/core/recorded-json.ts → ts/journal/journal-store.ts',
  'ts/journal/open-journal.ts → ts/toolkit/setting-checks.ts',
  'ts/contract/session/session-options.ts → ts/toolkit/setting-checks.ts',
  'ts/contract/call/scope.ts → ts/toolkit/settings.ts',
  'ts/contract/call/command-notes.ts → ts/toolkit/settings.ts',
  'ts/standard-agents/thread/execute-call.ts → ts/toolkit/run-call.ts',
  'ts/standard-agents/thread/thread-parts.ts → ts/toolkit/settings.ts',
]

const IMPORT = /\bfrom\s*['"](\.[^'"]+)['"]/g

const isWithin = (room, file) => file.startsWith(`${room}/`)
const isEntry = (file) => dirname(file) === 'ts'
/** The room of a file: the deepest one that BELOW names. */
const roomOf = (file) =>
  Object.keys(BELOW)
    .filter((room) => isWithin(room, file))
    .sort((a, b) => b.length - a.length)[0]

/** Every import that leads up or across, every file outside the rooms, every exception that nothing needs. */
export function* importsAgainstTheOrder(files, read) {
  const needed = new Set()
  for (const file of files) {
    if (!/^ts\/.*\.ts$/.test(file) || isEntry(file)) continue
    const room = roomOf(file)
    if (room === undefined) {
      yield `${file}: in no room; scripts/checks/rooms.mjs names them`
      continue
    }
    for (const [, specifier] of read(file).matchAll(IMPORT)) {
      const target = normalize(join(dirname(file), specifier)).replace(/\.js$/, '.ts')
      if (!target.startsWith('ts/')) continue
      if (isWithin(room, target) && roomOf(target) === room) continue
      if (!isEntry(target) && BELOW[room].includes(roomOf(target))) continue
      const arrow = `${file} → ${target}`
      if (EXCEPTIONS.includes(arrow)) needed.add(arrow)
      else yield `${file}: ${room} may not import ${target}`
    }
  }
  for (const arrow of EXCEPTIONS) {
    if (!needed.has(arrow)) yield `scripts/checks/rooms.mjs: nothing needs the exception ${arrow}`
  }
}
