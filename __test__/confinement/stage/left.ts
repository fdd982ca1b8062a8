import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { eventually } from '../../support/processes.ts'
import type { Host } from './host.ts'
import { controlGroups, mountedIn, remaining, type Seen } from './marked.ts'

/** What a host, and all that it had started, can leave. */
export interface Left {
  processes: string[]
  mounts: number[]
  groups: string[]
  temporary: string[]
  /** Private directories of commands, where those of the host cannot be hidden by mounts. */
  private: string[]
  root: string[]
  /** Whether it went after all, for whoever reads of it: what is slow is not what stays. */
  later: string
}

export const nothing: Left = { processes: [], mounts: [], groups: [], temporary: [], private: [], root: ['attack'], later: '' }

/** How long it is looked at whether what is left goes after all. */
const DESCRIPTOR_WAIT_MS = 10_000

/** What is left of a host and all that it had started, after a second at most. */
export async function goneWith(host: Host, seen: readonly Seen[]): Promise<Left> {
  const numbers = seen.map(({ pid }) => pid)
  const left = (): Left => ({
    processes: remaining(seen),
    mounts: mountedIn(host.base),
    groups: controlGroups(numbers),
    temporary: entries(host.temporary),
    private: numbers.flatMap((pid) => entries('/tmp', `toolwright-command-${pid}-`)),
    // Nor what stood for a protected path that did not exist.
    root: entries(host.rootDir).map((entry) => entry.replace(/^attack \(.*\)$/u, 'attack')),
    later: '',
  })
  const isGone = (): boolean => isDeepStrictEqual(left(), nothing)
  if (await eventually(isGone, 1_000)) return nothing
  const found = left()
  const start = performance.now()
  const went = await eventually(isGone, DESCRIPTOR_WAIT_MS)
  const ms = Math.round(performance.now() - start)
  return { ...found, later: went ? `gone ${ms} ms later` : `still there ${ms} ms later: ${JSON.stringify(left())}` }
}

/** All that is below a directory, or of its entries whose names begin so: kind, size, and when it was changed. */
function entries(directory: string, beginning = '', above = ''): string[] {
  let found: string[]
  try {
    found = readdirSync(directory).filter((name) => name.startsWith(beginning))
  } catch {
    return [] // it has gone meanwhile
  }
  return found.flatMap((name) => {
    const path = join(directory, name)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined) return []
    const relative = join(above, name)
    const kind = stat.isDirectory() ? 'directory' : stat.isFile() ? `file of ${stat.size}` : 'other'
    const own = `${relative} (${kind}, ${stat.uid}, ${stat.mtime.toISOString()}, ${stat.ctime.toISOString()})`
    return [own, ...(stat.isDirectory() ? entries(path, '', relative) : [])]
  })
}
