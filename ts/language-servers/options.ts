/** The options of language servers. */
import { type Check, type Checks, group, invalid, listOf, optional, string, text, wholeNumber } from '../core/options.js'
import { isKnownServer, knownServers, type LanguageServerConfig } from './known-servers.js'

/** The language servers of a set of tools, and what they may use. */
export interface LanguageServerOptions {
  /**
   * The servers: `'installed'` for those that are found in the project or in the `PATH` of commands, or each by name: `'installed'` for
   * a known one (`typescript`, `python`, `rust`, `go`, `c`), or its command and languages. Nothing is ever downloaded.
   * @default 'installed'
   */
  servers?: 'installed' | Readonly<Record<string, 'installed' | LanguageServerConfig>> | undefined
  /** How long the answer to an edit waits for new problems, in milliseconds. What comes later is told with the next answer. @default 700 */
  waitMs?: number | undefined
  /** How long a server may be idle before it is ended, in milliseconds. @default 600000 */
  idleMs?: number | undefined
  /** The memory of one server with all its processes, in bytes, where the system can limit it. @default 4294967296 */
  memoryBytes?: number | undefined
}

/** The same, complete. */
export type ParsedLanguageServers = Required<{ [NAME in keyof LanguageServerOptions]: Exclude<LanguageServerOptions[NAME], undefined> }>

const strings: Check<Readonly<Record<string, string>>> = (value, name) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(`${name} must be an object of texts.`)
  for (const [key, each] of Object.entries(value)) {
    if (!key.startsWith('.'))
      throw invalid(`${name} has ${JSON.stringify(key)}, which is no file extension: one begins with a dot, as in ".ts".`)
    text(each, `${name}[${JSON.stringify(key)}]`)
  }
  return value as Readonly<Record<string, string>>
}

const plain: Check<Readonly<Record<string, unknown>>> = (value, name) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(`${name} must be an object.`)
  return value as Readonly<Record<string, unknown>>
}

const config = group({
  command: (value, name) => {
    const command = listOf(string)(value, name)
    if (command.length === 0 || command[0] === '') throw invalid(`${name} must begin with a program.`)
    return command
  },
  languages: strings,
  initializationOptions: (value) => value,
  settings: optional(plain),
} satisfies Checks<LanguageServerConfig>)

const serversOf: Check<'installed' | Readonly<Record<string, 'installed' | LanguageServerConfig>>> = (value, name) => {
  if (value === 'installed') return value
  const each = plain(value, name)
  return Object.fromEntries(
    Object.entries(each).map(([server, one]) => {
      const where = `${name}.${server}`
      if (one !== 'installed') return [server, config(one, where) as LanguageServerConfig]
      if (!isKnownServer(server))
        throw invalid(`${where} is not known by name: give its command and languages. Known are ${knownServers.join(', ')}.`)
      return [server, one]
    }),
  )
}

const parts = group({
  servers: optional(serversOf, 'installed'),
  waitMs: optional(wholeNumber(0, 60_000), 700),
  idleMs: optional(wholeNumber(1, 86_400_000), 600_000),
  memoryBytes: optional(wholeNumber(1), 4_294_967_296),
} satisfies Checks<LanguageServerOptions>)

/** @throws {ToolError} INVALID_INPUT */
export const parseLanguageServers: Check<ParsedLanguageServers> = (value, name) => {
  if (value === 'installed') return parts({}, name) as ParsedLanguageServers
  if (typeof value !== 'object' || value === null) throw invalid(`${name} must be 'installed' or an object of options.`)
  return parts(value, name) as ParsedLanguageServers
}
