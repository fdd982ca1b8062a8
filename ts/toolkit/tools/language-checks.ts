import { isWithin } from '../../core/near-paths.js'
import type { LanguageServers } from '../../language-servers/language-servers.js'
import type { BoundToolOptions } from '../settings.js'
import type { CallSettings } from './call-plan.js'
import { joinedNotes } from './model-output.js'
import { serverHost } from './server-host.js'

/**
 * Makes a change, and adds to its note what is new among the problems of the files. The change itself waits for no server.
 *
 * @returns what `change` has returned, and the note.
 */
export async function changeWithProblems<T>(
  servers: LanguageServers | undefined,
  bound: BoundToolOptions,
  paths: readonly unknown[],
  call: CallSettings,
  change: () => Promise<T>,
): Promise<{ result: T; note: string | undefined }> {
  if (servers === undefined) return { result: await change(), note: undefined }
  const host = serverHost(servers, bound, call)
  const files = paths.filter((path) => typeof path === 'string').map((path) => host.absolute(path))
  const noted = await servers.before(
    files.filter((path) => isWithin(host.rootDir, path)),
    host,
  )
  const result = await change().catch((error: unknown) => {
    servers.unchanged(noted)
    throw error
  })
  const late = servers.takeLate()
  const note = await servers.after(noted, host, call.signal)
  return { result, note: joinedNotes(late, note) }
}
