/**
 * Which `durable()` object a call belongs to. The engine keeps the object's number with its first step, so it is the same in every execution,
 * and the row of a call has it. A call of another object with the same id is another call.
 */
import type { Journal } from '../journal/journal.js'
import type { ToolCallRow } from '../journal/journal-store.js'

/** Numbers of equal calls are below it. */
const LEAST = 2 ** 32

/** A number that no other object has. */
export const newObjectNumber = (): number => LEAST + Math.floor(Math.random() * 2 ** 52)

/** The object that made the call of a row; `undefined` for a call of `callOnce` or `runTask`. */
const objectOf = ({ ordinal }: ToolCallRow): number | undefined => (ordinal !== null && ordinal >= LEAST ? ordinal : undefined)

interface Known {
  /** Whether its agent goes on, has come to its end, or was broken off. */
  state: 'active' | 'ended' | 'failed'
  /** What its model was asked first. */
  prompt: string
  /** Whether the engine gave the first step back as a copy: it has kept it. */
  isKept: boolean
}

/** The objects of this process by task. */
const tasks = new Map<string, Map<number, Known>>()
const MOST_TASKS = 10_000

/** One object in its task. */
export class RunObject {
  readonly #known: Map<number, Known>
  readonly #journal: Journal
  readonly #task: { runId: string; nodeId: string; iteration: number }
  /** Its number, once its first step has been kept. */
  number: number | undefined
  #prompt = ''
  #foreign: Promise<ToolCallRow[]> | undefined
  #hasWarned = false

  constructor(journal: Journal, runId: string, nodeId: string) {
    this.#journal = journal
    this.#task = { runId, nodeId, iteration: 0 }
    const name = JSON.stringify([journal.location, runId, nodeId])
    const known = tasks.get(name) ?? new Map<number, Known>()
    // The tasks that were used last stay.
    tasks.delete(name)
    tasks.set(name, known)
    for (const oldest of tasks.keys()) {
      if (tasks.size <= MOST_TASKS) break
      tasks.delete(oldest)
    }
    this.#known = known
  }

  begins(number: number, prompt: string, isKept: boolean): void {
    if (this.number !== undefined) return
    this.number = number
    this.#prompt = prompt
    const before = this.#known.get(number)
    this.#known.set(number, { state: 'active', prompt, isKept: isKept || before?.isKept === true })
  }

  is(state: Known['state']): void {
    const known = this.number === undefined ? undefined : this.#known.get(this.number)
    if (known !== undefined) known.state = state
  }

  /** Whether the row is that of another object's call, which has the same id by chance. */
  isOfAnother(row: Pick<ToolCallRow, 'ordinal'>): boolean {
    const other = objectOf(row as ToolCallRow)
    return this.number !== undefined && other !== undefined && other !== this.number
  }

  /** The same of the call that has an id, where the store tells no row. */
  async hasIdOfAnother(callId: string): Promise<boolean> {
    const { runId, nodeId, iteration } = this.#task
    const rows = await this.#journal.listToolCalls(runId, nodeId, iteration, { outline: true })
    const same = rows.filter(({ callToken }) => callToken === callId || callToken?.startsWith(`${callId} `) === true)
    return same.length > 0 && same.every((row) => this.isOfAnother(row))
  }

  /**
   * A call with the same tool and arguments that another execution of this program has made, as far as that can be told: one whose steps
   * the engine did not keep. Each such call is given once.
   */
  async repeated(toolName: string, argsHash: string): Promise<ToolCallRow | undefined> {
    if (this.number === undefined) return undefined
    const rows = await (this.#foreign ??= this.#lookForOthers())
    const index = rows.findIndex((row) => row.toolName === toolName && row.argsHash === argsHash)
    if (index === -1) return undefined
    const [row] = rows.splice(index, 1)
    return row && ((await this.#journal.rows([row.row]))[0] ?? row)
  }

  async #lookForOthers(): Promise<ToolCallRow[]> {
    const rows = await this.#journal.priorEffects(this.#task, 2)
    const others = rows.filter((row) => this.isOfAnother(row) && !this.#isAccountedFor(objectOf(row) as number))
    if (others.length > 0 && !this.#hasWarned) {
      this.#hasWarned = true
      const { runId, nodeId } = this.#task
      console.warn(
        `[toolwright] durable: task ${JSON.stringify(nodeId)} of run ${JSON.stringify(runId)} has ${others.length} calls of an execution whose steps the engine does not know. ` +
          'Either the engine keeps no steps (the whole agent is one step of it), or two programs use this run: give each its own runId or nodeId.',
      )
    }
    return others
  }

  /** Whether an object is another part of this execution: another turn, an agent beside this one. */
  #isAccountedFor(number: number): boolean {
    const known = this.#known.get(number)
    if (known === undefined || known.state === 'failed') return false
    // The same question again, of an engine of which it is not known whether it keeps anything: the program may have begun again.
    return known.isKept || known.prompt !== this.#prompt
  }
}
