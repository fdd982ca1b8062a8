import { relative } from 'node:path'
import { noteForkAsRoot } from '../../core/grants.js'
import { isWithin } from '../../core/near-paths.js'
import { type FormatHost, formatFiles } from '../../formatters/format-file.js'
import { projectFiles } from '../../formatters/project-files.js'
import { ServerHomes, type ServerHomesAddon } from '../mcp/server-homes.js'
import { ServerProcess } from '../mcp/server-process.js'
import type { ServerPlace } from '../mcp/server-sandbox.js'

/** A file that a call has changed, and how its text is replaced by the formatted one. */
export interface ChangedFile {
  /** Absolute. */
  path: string
  text(): Promise<string | undefined>
  /** @throws for a file that no longer has the text */
  replace(before: string, after: string): Promise<void>
}

/** The formatters of a session and its subagents: those that the project in the first directory of the workspace has. They read the system and the workspace, and write a home of their own alone. */
export class SessionFormatters {
  readonly #homes: ServerHomes
  readonly #place: ServerPlace

  constructor({ addon, ...place }: Omit<ServerPlace, 'home'> & { addon: ServerHomesAddon }) {
    this.#homes = new ServerHomes(addon)
    this.#place = { ...place, home: (name) => this.#homes.of(name) }
    if (place.fork !== undefined) noteForkAsRoot(this, place.fork)
  }

  /** Formats files after a change. It never throws. @returns what there is to tell of each; `undefined` for nothing. */
  async format(files: readonly ChangedFile[], signal: AbortSignal): Promise<string | undefined> {
    const [rootDir = ''] = this.#place.roots
    const byPath = new Map(files.filter(({ path }) => isWithin(rootDir, path)).map((file) => [relative(rootDir, file.path), file]))
    const host: FormatHost = {
      files: projectFiles({ rootDir, rootHolder: this }, signal),
      signal,
      text: async (path) => byPath.get(path)?.text(),
      replace: async (path, before, after) => byPath.get(path)?.replace(before, after),
      start: async ({ name, command: [program = '', ...args], memoryBytes, timeoutMs }, ends) => {
        const sandbox = { limits: { memoryBytes }, readScope: 'system' as const }
        const server = { command: program, args, cwd: rootDir, sandbox, timeout_ms: timeoutMs }
        return (await ServerProcess.start(`formatter-${name}`, server, this.#place, ends)).process
      },
    }
    return formatFiles([...byPath.keys()], host)
  }

  async close(): Promise<void> {
    await this.#homes.remove()
  }
}
