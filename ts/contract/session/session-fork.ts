import { ToolError } from '../../core/errors.js'
import { isWithin } from '../../core/near-paths.js'
import { invalid } from '../../core/options.js'
import { beginningOf } from '../../core/text.js'
import { openFork, type OpenForkOptions } from '../../fork/open-fork.js'
import type { Fork } from '../../fork/fork.js'
import { realDirectory } from '../permissions/workspace-roots.js'
import type { ParsedOptions } from './session-options.js'

/** Where applies and discards of a session's forks are recorded. */
export type ForkRecord = Pick<OpenForkOptions, 'journal' | 'runId' | 'nodeId'>

/** The node of the rows about forks, in the run of the session. */
const FORK_NODE = 'forks'

/** Where the forks of a session are recorded, if it has a journal. */
export const forkRecord = (runId: string, { journal }: Pick<ParsedOptions, 'journal'>): ForkRecord =>
  journal === undefined ? {} : { journal, runId, nodeId: FORK_NODE }

/**
 * The fork of the options: one that is made for the session, or that of the host. What would work in the directory itself all the
 * same is refused.
 *
 * @throws {ToolError} INVALID_INPUT; errors of `openFork`.
 */
export async function forkOfOptions(id: string, options: ParsedOptions): Promise<{ fork: Fork; isOwn: boolean } | undefined> {
  const { fork: wanted, workspace, manifest, checkpoints, enabledMcpServers } = options
  if (wanted === undefined || wanted === false) return undefined
  if (checkpoints !== undefined) {
    throw invalid(
      'checkpoints are those of a directory, and the session works in a fork, which has status, diff and apply: leave one of them out.',
    )
  }
  const unconfined = enabledMcpServers.find((name) => {
    const server = manifest.mcpServers?.[name]
    return server !== undefined && 'command' in server && server.sandbox === 'none'
  })
  if (unconfined !== undefined) {
    throw invalid(
      `mcpServers.${unconfined}.sandbox is 'none', and the session works in a fork: the server would change the directory itself. Give it a sandbox, or leave it out of enabledMcpServers.`,
    )
  }
  if (wanted !== true) return { fork: wanted, isOwn: false }
  const [root, ...others] = workspace
  if (root === undefined || others.length > 0) {
    throw invalid(
      'fork: true needs a workspace of one directory. For roots in it, give them as workspace, and a fork of the directory from openFork.',
    )
  }
  const fork = await openFork({
    rootDir: realDirectory('workspace', root),
    label: beginningOf(manifest.name, 200),
    ...forkRecord(id, options),
  })
  return { fork, isOwn: true }
}

/** Refuses roots that are not in the directory that was forked: calls would work in them, and not in the fork. */
export function checkForkedRoots(roots: readonly string[], { base }: Fork): void {
  const outside = roots.find((root) => !isWithin(base, root))
  if (outside !== undefined) {
    throw invalid(
      `${outside} is not in ${base}, of which the session has a fork: leave it out of the workspace, or fork a directory around both.`,
    )
  }
}

/** Leaves a fork when its session ends: one without changes is thrown away, and any other stays in its store. */
export async function leaveFork(fork: Fork): Promise<void> {
  try {
    const { changes, leftOut } = await fork.status()
    if (changes.length === 0 && leftOut.length === 0) await fork.discard()
    else await fork.close()
  } catch (error) {
    // It was closed or discarded before, or a detached process works in it.
    if (!ToolError.isInstance(error)) throw error
  }
}
