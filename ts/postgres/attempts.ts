/** Attempts of tasks: their locks, and all that an attempt has to know, in one round trip. */
import { ToolError } from '../core/errors.js'
import { tracedLock } from '../journal/store-channels.js'
import type { TaskId, TaskLock, TaskStart } from '../journal/journal-store.js'
import type { SqlRow } from './client.js'
import { type Lease, type Owner, taskName } from './owner.js'
import { callRow, checkedTask } from './rows.js'
import { isCode, type Session } from './session.js'
import type { Statements } from './statements.js'
import type { TakenBack } from './taken-back.js'
import type { Unheard } from './unheard.js'

export class Attempts {
  readonly #session: Session
  readonly #owner: Owner
  readonly #statements: Statements
  readonly #unheard: Unheard
  readonly #takenBack: TakenBack
  readonly #diedJson: () => string

  constructor(session: Session, owner: Owner, statements: Statements, taking: [Unheard, TakenBack], diedJson: () => string) {
    this.#session = session
    this.#owner = owner
    this.#statements = statements
    ;[this.#unheard, this.#takenBack] = taking
    this.#diedJson = diedJson
  }

  lock(task: TaskId, attempt: number): Promise<TaskLock> {
    return this.#traced(() => this.#lock(task, attempt))
  }

  begin(task: TaskId, wanted: number | undefined): Promise<TaskStart> {
    return this.#traced(() => this.#begin(task, wanted))
  }

  #traced<T>(take: () => Promise<T>): Promise<T> {
    const isHeld = (error: unknown) => (isCode(error, 'JOURNAL_TASK_LOCKED') ? 'held' : 'failed')
    return tracedLock({ store: this.#session.place, lock: 'task' }, take, () => 'taken', isHeld)
  }

  async #lock(task: TaskId, attempt: number): Promise<TaskLock> {
    const [row, lease] = await this.#underLease(task, attempt, 'lock')
    if (row['token'] === null || row['token'] === undefined) throw this.#lockedBy(task, String(row['holder']))
    return this.#lockOf(task, lease, Number(row['token']))
  }

  async #begin(task: TaskId, wanted: number | undefined): Promise<TaskStart> {
    const [row, lease] = await this.#underLease(task, wanted, 'beginTask')
    const start = JSON.parse(String(row['task'])) as {
      holder?: string
      token: number
      attempt: number
      last: number | null
      seq: number
      effects: SqlRow[]
      made: SqlRow[]
    }
    if (start.holder !== undefined) throw this.#lockedBy(task, start.holder)
    return {
      lock: this.#lockOf(task, lease, start.token),
      attempt: start.attempt,
      last: start.last === null ? undefined : { attempt: start.last, seq: start.seq },
      priorEffects: start.effects.map(callRow),
      made: start.made.map(callRow),
    }
  }

  /** Asks as an owner; once more with a new lease, if the old one was taken over meanwhile. */
  async #underLease(task: TaskId, attempt: number | undefined, statement: 'lock' | 'beginTask'): Promise<[SqlRow, Lease]> {
    const { run_id: run, node_id: node, iteration } = checkedTask(task)
    const name = taskName(run, node, iteration)
    for (let isLast = false; ; isLast = true) {
      const lease = await this.#owner.current()
      try {
        const values = (again: boolean) => [lease.id, run, node, iteration, attempt, again, this.#diedJson()]
        const look = () => this.#takenBack.lock(lease, run, node, iteration)
        const [row = {}] = await this.#unheard.ask(
          lockKey(run, node, iteration),
          lease,
          // What this process works on is not its own once more.
          (again) => ({ ...this.#statements[statement], values: values(again && this.#owner.tokenOf(name) === undefined) }),
          look,
        )
        return [row, lease]
      } catch (error) {
        if (isLast || !isCode(error, 'JOURNAL_OWNER_FENCED')) throw error
        this.#owner.lose(lease, 'its lease had ended, and was taken over')
      }
    }
  }

  #lockOf(task: TaskId, lease: Lease, token: number): TaskLock {
    const { runId, nodeId, iteration } = task
    const name = taskName(runId, nodeId, iteration)
    this.#owner.locked(lease, name, token)
    let isHeld = true
    return {
      token,
      lost: lease.lost,
      release: async () => {
        if (!isHeld) return
        isHeld = false
        this.#owner.unlocked(name, token)
        // The lease ends anyway, and the next one finds no owner.
        if (lease.lost.aborted) return
        const unlock = { ...this.#statements.unlock, values: [runId, nodeId, iteration, token] }
        await this.#session
          .run(() => unlock)
          .catch(() => {
            const look = () => this.#takenBack.lock(lease, runId, nodeId, iteration)
            this.#unheard.note(lockKey(runId, nodeId, iteration), lease, look)
          })
      },
    }
  }

  #lockedBy({ runId, nodeId, iteration }: TaskId, holder: string): ToolError {
    const summary = 'Another attempt of the task is running'
    return new ToolError({
      code: 'JOURNAL_TASK_LOCKED',
      summary,
      place: `${summary}: \`${nodeId}\` of run \`${runId}\`, iteration ${iteration}, in \`${this.#session.place}\` (${holder})`,
      hint: 'Wait until it has ended; a lock goes with the process that holds it.',
      details: { path: this.#session.place },
    })
  }
}

const lockKey = (runId: string, nodeId: string, iteration: number): string => JSON.stringify(['lock', runId, nodeId, iteration])
