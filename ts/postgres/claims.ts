/** Calls that are made once, by an id from outside. */
import { ToolError } from '../core/errors.js'
import type { CallClaim, ClaimedCall, ToolCallRow } from '../journal/journal-store.js'
import { fenced } from './failures.js'
import { type Owner, taskName } from './owner.js'
import { begunColumns, checkedId } from './rows.js'
import { isCode, type Session } from './session.js'
import type { Statements } from './statements.js'
import type { TakenBack } from './taken-back.js'
import type { Unheard } from './unheard.js'

export class Claims {
  readonly #session: Session
  readonly #owner: Owner
  readonly #statements: Statements
  readonly #unheard: Unheard
  readonly #takenBack: TakenBack
  readonly #diedJson: () => string
  #lastStart = 0

  constructor(session: Session, owner: Owner, statements: Statements, taking: [Unheard, TakenBack], diedJson: () => string) {
    this.#session = session
    this.#owner = owner
    this.#statements = statements
    ;[this.#unheard, this.#takenBack] = taking
    this.#diedJson = diedJson
  }

  /** @param rowOf reads a row. */
  async claim(
    call: ClaimedCall,
    repeat: boolean,
    rowOf: (row: number) => Promise<ToolCallRow | undefined>,
  ): Promise<CallClaim & { owner?: number }> {
    const callId = checkedId(call.callId, 'callId')
    const columns = begunColumns({ ...call, seq: 0 }, undefined)
    const { run_id: runId, node_id: nodeId, iteration } = columns as { run_id: string; node_id: string; iteration: number }
    const status = repeat ? 'unknown' : 'error'
    const key = JSON.stringify(['claim', runId, nodeId, iteration, callId])
    for (let isLast = false; ; isLast = true) {
      if (this.#owner.hasLost(taskName(runId, nodeId, iteration))) throw fenced(this.#session.place, 'the lock of the task was lost')
      const lease = await this.#owner.current()
      const arrived = this.#owner.departs(lease)
      try {
        // No two claims of this process begin at the same time, so that a lost one is known by its own.
        const start = Math.max(Number(columns['started_at_ms']), this.#lastStart + 1)
        this.#lastStart = start
        const json = JSON.stringify({ ...columns, started_at_ms: start })
        const [answer = {}] = await this.#unheard.ask(
          key,
          lease,
          (again) => ({ ...this.#statements.claim, values: [lease.id, json, callId, repeat, again, this.#diedJson()] }),
          () => this.#takenBack.call({ lease, runId, nodeId, iteration, callId, start, status }),
          status,
        )
        const what = String(answer['what'])
        const number = Number(answer['number'])
        if (what === 'differs') throw this.#differs(call, await rowOf(number))
        if (what === 'claimed' || what === 'reclaimed') {
          if (what === 'claimed') this.#owner.opened(lease, number)
          else this.#owner.reopened(lease, number)
          const place = { attempt: Number(answer['attempt']), seq: Number(answer['seq']) }
          const claimed = { runId, nodeId, iteration, ...place, row: number, startedAtMs: Number(answer['start']) }
          return { claimed, lost: lease.lost, owner: lease.id }
        }
        const row = await rowOf(number)
        // Removed meanwhile: the next claim finds nothing, and is new.
        if (row === undefined) continue
        return what === 'recorded' ? { recorded: row } : what === 'unknown' ? { unknown: row } : { running: row }
      } catch (error) {
        if (isLast || !isCode(error, 'JOURNAL_OWNER_FENCED')) throw error
        this.#owner.lose(lease, 'its lease had ended, and was taken over')
      } finally {
        arrived()
      }
    }
  }

  #differs({ callId, toolName }: ClaimedCall, row: ToolCallRow | undefined): ToolError {
    const summary = 'The id of the call belongs to another call'
    return new ToolError({
      code: 'REPLAY_DIFFERS',
      summary,
      place: `${summary}: \`${callId}\` is a call of ${row?.toolName}, not this call of ${toolName} (\`${this.#session.place}\`)`,
      hint: 'The program was changed since the run began: give changed calls other ids, or end the run.',
      details: { path: this.#session.place, callId, ...(typeof row?.ordinal === 'number' && { ordinal: row.ordinal }) },
    })
  }
}
