import { unlessAborted } from '../../core/abort.js'
import { ToolError } from '../../core/errors.js'
import { beginningOf } from '../../core/text.js'
import { openFork } from '../../fork/open-fork.js'
import type { AppliedFork, ApplyForkOptions, Fork, ForkStatus } from '../../fork/fork.js'
import type { AgentDefinition } from '../agents/manifest.js'
import type { Access } from '../call/scope.js'
import { ContractFailure } from '../registry/envelope.js'
import type { TaskFork } from '../registry/tool-runtime.js'
import type { SessionForks } from './session.js'
import { type ForkRecord, leaveFork } from './session-fork.js'

/** The most changes that the result of a task names. */
const MAX_CHANGES = 200

/** The forks of the subagents of a session and of those below them. */
export class TaskForks implements SessionForks {
  readonly #record: ForkRecord
  readonly #all = new Map<string, Fork>()
  #isClosed = false

  constructor(record: ForkRecord) {
    this.#record = record
  }

  get all(): readonly Fork[] {
    return [...this.#all.values()]
  }

  get(id: string): Fork {
    const fork = this.#all.get(id)
    if (fork !== undefined) return fork
    const summary = 'No fork of a subagent of this session'
    const known = this.#all.size === 0 ? 'There is none in this session.' : `They are: ${[...this.#all.keys()].join(', ')}.`
    throw new ToolError({
      code: 'FORK_NOT_FOUND',
      summary,
      place: `${summary}: \`${id}\``,
      hint: `${known} Those of earlier sessions are opened with openFork({ id }).`,
      details: { fork: id },
    })
  }

  async apply(id: string, options?: ApplyForkOptions): Promise<AppliedFork> {
    return this.get(id).apply(options)
  }

  async discard(id: string): Promise<void> {
    await this.get(id).discard()
    this.#all.delete(id)
  }

  /** The fork that an agent of `isolation: 'fork'` works in. @throws {ContractFailure} unavailable; errors of `openFork` */
  async open(
    { name, isolation }: AgentDefinition,
    label: string,
    { fork, roots }: Pick<Access, 'fork' | 'roots'>,
  ): Promise<Fork | undefined> {
    if (isolation !== 'fork') return undefined
    const refused = (why: string): ContractFailure =>
      new ContractFailure('unavailable', `The agent ${name} works in a fork of its own. ${why}`)
    if (fork !== undefined) throw refused('This session works in a fork itself, of which no other can be made. Do the task yourself.')
    const [root, ...others] = roots
    if (root === undefined || others.length > 0) {
      throw refused(`That takes a workspace of one directory, and this one has ${roots.length}. Do the task yourself.`)
    }
    return openFork({ rootDir: root, label: beginningOf(`${name}: ${label}`, 200), ...this.#record })
  }

  /** What an agent has left in its fork, which stays if that is anything. */
  async settle(fork: Fork): Promise<TaskFork> {
    // It is closed with the session, also if it cannot be looked at.
    this.#all.set(fork.id, fork)
    const status = await fork.status()
    const { changes, leftOut } = status
    if (changes.length === 0 && leftOut.length === 0) {
      await this.discard(fork.id)
      return { id: null, changes: [] }
    }
    if (this.#isClosed) await this.#leave(fork)
    return taskFork(fork.id, status)
  }

  async close(limitMs: number): Promise<void> {
    this.#isClosed = true
    const all = Promise.allSettled(this.all.map((fork) => this.#leave(fork)))
    await unlessAborted(all, AbortSignal.timeout(limitMs)).catch(() => undefined)
  }

  async #leave(fork: Fork): Promise<void> {
    this.#all.delete(fork.id)
    await leaveFork(fork)
  }
}

function taskFork(id: string, { changes, leftOut }: ForkStatus): TaskFork {
  const named = changes.slice(0, MAX_CHANGES).map(({ path, kind }) => ({ path, kind }))
  return {
    id,
    changes: named,
    ...(changes.length > named.length ? { more_changes: changes.length - named.length } : {}),
    ...(leftOut.some(({ reason }) => reason === 'git') ? { has_git_changes: true } : {}),
  }
}

/** What a subagent has changed in its fork, for a message. */
export function taskForkText({ id, changes, more_changes = 0, has_git_changes: hasGit }: TaskFork): string {
  if (id === null) return 'It worked in a fork, and has changed nothing.'
  const lines = changes.map(({ path, kind }) => `${kind} ${path}`)
  const more = more_changes > 0 ? [`and ${more_changes} more`] : []
  const git = hasGit === true ? ['the git directory of the fork'] : []
  return `What it has changed is in the fork ${id} and not yet applied:\n${[...lines, ...more, ...git].join('\n')}`
}
