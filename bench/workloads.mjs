import { workloads as channels } from './workloads/channels.mjs'
import { workloads as checkpoints } from './workloads/checkpoints.mjs'
import { workloads as commands } from './workloads/commands.mjs'
import { workloads as contract } from './workloads/contract.mjs'
import { workloads as credentials } from './workloads/credentials.mjs'
import { workloads as edits } from './workloads/edits.mjs'
import { workloads as files } from './workloads/files.mjs'
import { workloads as followed } from './workloads/followed.mjs'
import { workloads as forks } from './workloads/forks.mjs'
import { workloads as hosts } from './workloads/hosts.mjs'
import { workloads as imports } from './workloads/imports.mjs'
import { workloads as journals } from './workloads/journals.mjs'
import { workloads as masks } from './workloads/masks.mjs'
import { workloads as processes } from './workloads/processes.mjs'
import { workloads as searches } from './workloads/searches.mjs'
import { workloads as seenFiles } from './workloads/seen-files.mjs'
import { workloads as threads } from './workloads/threads.mjs'

/**
 * One operation, done by several contenders.
 * @typedef {object} Workload
 * @property {string} id
 * @property {'node' | 'bun'} [runtime] @default 'node'
 * @property {number} [residentMb] size of the process it is done in; as it is without it
 * @property {string} [without] system calls that fail in it, as `deny` of crates/attacks names them
 * @property {boolean} [isPublished] of the package as it is published
 * @property {boolean} [alone] in a fresh process of its own, which nothing before has made larger
 * @property {{ quick: import('./rounds.mjs').Effort, full: import('./rounds.mjs').Effort }} effort
 * @property {(stage: object) => any} contenders
 */

/** @type {Workload[]} */
export const workloads = [
  ...files,
  ...threads,
  ...edits,
  ...searches,
  ...commands,
  ...processes,
  ...hosts,
  ...credentials,
  ...journals,
  ...imports,
  ...contract,
  ...channels,
  ...checkpoints,
  ...forks,
  ...seenFiles,
  ...followed,
  ...masks,
]

/**
 * Workloads by the processes they are done in.
 * @param {Workload[]} chosen
 */
export function byProcess(chosen) {
  const groups = new Map()
  for (const { id, runtime = 'node', residentMb = 0, alone = false, without } of chosen) {
    // What a workload leaves behind would make the next one's process larger than it asks for.
    const key = alone || residentMb > 0 ? id : runtime
    const group = groups.get(key) ?? { runtime, residentMb, without, ids: [] }
    groups.set(key, group)
    group.ids.push(id)
  }
  return [...groups.values()]
}
