/** Attempts that work in a fork: what one changes is applied when it has succeeded, and thrown away when it has not. */
import { ToolError } from '../../core/errors.js'
import { noteForkAsRoot } from '../../core/grants.js'
import type { Fork, ForkChange } from '../../fork/fork.js'
import { storedFork } from '../../fork/fork-actions.js'
import { listForks, openFork } from '../../fork/open-fork.js'
import { recordedForkCall } from '../../fork/recorded-call.js'
import { attemptsInLostForks, FORK_DONE, FORK_OPEN } from '../../journal/forked-attempts.js'
import { runWithToolContext, type ToolContext } from '../../journal/calls/context.js'
import type { TaskId, ToolCallRow } from '../../journal/journal-store.js'
import type { Journal } from '../../journal/journal.js'

/** The label of the forks of a task. */
const labelOf = ({ runId, nodeId, iteration }: TaskId): string => `task ${JSON.stringify([runId, nodeId, iteration])}`

/** The fork of one attempt. */
export class AttemptFork {
  readonly #fork: Fork
  #isKept = false

  private constructor(fork: Fork) {
    this.#fork = fork
  }

  /**
   * Makes the fork, and has the tools of the context work in it. Those of earlier attempts of this task, whose processes were killed, are
   * thrown away: nobody else may run the task meanwhile.
   */
  static async open(id: TaskId, context: ToolContext & { rootDir: string }): Promise<AttemptFork> {
    const label = labelOf(id)
    for (const left of await listForks({ rootDir: context.rootDir })) {
      if (left.label === label && left.state !== 'open') await (await storedFork(left.id, undefined)).discard()
    }
    const fork = await openFork({ rootDir: context.rootDir, label })
    try {
      context.rootDir = fork.base
      noteForkAsRoot(context, fork)
      await runWithToolContext(context, () => recordedForkCall(FORK_OPEN, {}, { fork: fork.id }, undefined, async () => null, false))
      return new AttemptFork(fork)
    } catch (error) {
      await fork.discard()
      throw error
    }
  }

  /**
   * Applies what the attempt has changed. What is never applied without being named keeps the fork, and is told.
   *
   * @throws {ToolError} FORK_CONFLICT where somebody else has changed the same. The fork stays then.
   */
  async apply(signal: AbortSignal): Promise<void> {
    const { id } = this.#fork
    const { conflicts, leftOut } = await this.#fork.apply({ signal })
    this.#isKept = conflicts.length > 0 || leftOut.length > 0
    if (conflicts.length > 0) throw conflict(id, conflicts)
    await recordedForkCall(FORK_DONE, {}, { fork: id }, undefined, async () => null, false)
    if (leftOut.length === 0) return
    const paths = leftOut.map(({ path, reason }) => `${path} (${reason})`)
    process.emitWarning(`The task is done, and these of its changes were not applied: ${paths.join(', ')}. They are in the fork ${id}.`, {
      code: 'TOOLWRIGHT_FORK_LEFT_OUT',
    })
  }

  /** Throws the fork away, or leaves it on the disk. */
  async end(): Promise<void> {
    await (this.#isKept ? this.#fork.close() : this.#fork.discard())
  }
}

function conflict(fork: string, conflicts: readonly ForkChange[]): ToolError {
  const paths = conflicts.map(({ path }) => path)
  const summary = 'The directory has changed where the task has'
  return new ToolError({
    code: 'FORK_CONFLICT',
    summary,
    place: `${summary}: ${paths.map((path) => `\`${path}\``).join(', ')}`,
    hint: `Nothing was applied. The fork ${fork} has the changes of the task: compare them with \`toolwright forks diff ${fork}\`, apply other paths alone, or run the task again.`,
    details: { fork, paths },
  })
}

/** The effects that are there: those of an attempt in a fork that was not applied are not, as far as they are files. */
export async function effectsOutsideOfForks(
  effects: readonly ToolCallRow[],
  isOfFiles: (effect: ToolCallRow) => boolean,
  { journal, id }: { journal: Journal; id: TaskId },
): Promise<ToolCallRow[]> {
  if (effects.length === 0) return []
  const lost = attemptsInLostForks(await journal.listToolCalls(id.runId, id.nodeId, id.iteration, { outline: true }))
  return effects.filter((effect) => !(isOfFiles(effect) && lost.has(effect.attempt)))
}
