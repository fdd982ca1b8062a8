import { ToolError } from '../../core/errors.js'
import { markFailed, warnOnce } from '../../journal/calls/call-record.js'
import type { Journal } from '../../journal/journal.js'
import type { NewToolCall, ToolCallKey, ToolCallRow } from '../../journal/journal-store.js'

/** A task that was handed out in the background. */
export interface BackgroundTask {
  agent: string
  sessionId: string
}

/** How such a task has ended. */
export type TaskEnd = { output: string } | { failure: string }

/** What a journal keeps of one task. Neither rejects: what they tell has happened. */
export interface RecordedTask {
  /** It has ended. */
  end(end: TaskEnd): Promise<void>
  /** The parent knows how it has ended. */
  told(): Promise<void>
}

/** A task whose end the parent was not told before the session was opened again. */
export interface UntoldTask {
  task: BackgroundTask
  end: TaskEnd
  recorded: RecordedTask
}

/** Tasks whose end the parent was not told. */
export interface UntoldTasks {
  tasks: UntoldTask[]
  /** When to look again, in milliseconds since 1970: one of them is at work where nobody can look from here. */
  lookAgainAtMs: number | undefined
}

/** What is said of a task whose process died. */
const HOST_DIED =
  'its process ended before it had finished, and how far it had come is not known. Look at what it changed before handing it out again.'
/** What is said of a task whose process cannot be looked at. */
const HOST_SILENT =
  'it was handed out on another machine, and has not ended in the time that a task may take; how far it has come is not known. Look at what it changed before handing it out again.'
/** How much later than it should end a task of another machine is given up, in milliseconds: clocks differ. */
const GRACE_MS = 60_000

/**
 * The tasks of a session in the background, in a journal: a row for each under a node beside the session's own, and
 * one with the same numbers under another node when the parent has been told. So whoever opens the session again
 * knows what its parent still waits for.
 */
export class BackgroundRecord {
  readonly #journal: Journal
  readonly #runId: string
  readonly #nodes: { tasks: string; told: string }
  readonly #attempt: number
  /** The numbers of those that `untold` has given. */
  readonly #given = new Set<string>()
  #seq = 0

  constructor(journal: Journal, { runId, nodeId }: { runId: string; nodeId: string }, attempt: number) {
    this.#journal = journal
    this.#runId = runId
    // Nodes of children begin with a number.
    this.#nodes = { tasks: `${nodeId}/background`, told: `${nodeId}/background-told` }
    this.#attempt = attempt
  }

  /** A task that is to begin. Rejects when it must not, because it cannot be recorded. */
  async begin(task: BackgroundTask): Promise<RecordedTask | undefined> {
    this.#seq += 1
    const at = { attempt: this.#attempt, seq: this.#seq }
    try {
      // A side effect, so that the row survives this process.
      await this.#journal.insertToolCall({ ...this.#row(task, at), nodeId: this.#nodes.tasks })
      return this.#recorded(task, at)
    } catch (error) {
      if (this.#journal.onFailure === 'fail') throw error
      warnOnce(this.#journal, error, 'a task in the background is begun without a record')
      return undefined
    }
  }

  /**
   * What earlier openings of the session have left, each once. Tasks of a process that still runs are its own; one
   * of another machine, where nobody can look, is given up when it has taken longer than `longestMs`.
   */
  async untold(longestMs: number): Promise<UntoldTasks> {
    const nothing = { tasks: [], lookAgainAtMs: undefined }
    if (this.#attempt === 1) return nothing
    const list = (node: string): Promise<ToolCallRow[]> => this.#journal.listToolCalls(this.#runId, node, 0)
    let rows = await list(this.#nodes.tasks)
    let undecided = 0
    if (rows.some(({ status }) => status === 'started')) {
      undecided = (await this.#journal.recover()).undecided
      rows = await list(this.#nodes.tasks)
    }
    if (rows.length === 0) return nothing
    const told = new Set((await list(this.#nodes.told)).map(numbersOf))
    const left = rows.filter((row) => row.attempt < this.#attempt && !told.has(numbersOf(row)) && !this.#given.has(numbersOf(row)))
    const dueAtMs = ({ startedAtMs }: ToolCallRow): number => (undecided === 0 ? Infinity : startedAtMs + longestMs + GRACE_MS)
    const now = Date.now()
    const tasks = left.flatMap((row) => {
      const end = endOf(row) ?? (dueAtMs(row) <= now ? { failure: HOST_SILENT } : undefined)
      if (end === undefined) return []
      this.#given.add(numbersOf(row))
      const task = taskOf(row)
      return [{ task, end, recorded: this.#recorded(task, row) }]
    })
    const waiting = left.filter((row) => !this.#given.has(numbersOf(row))).map(dueAtMs)
    const lookAgainAtMs = Math.min(Infinity, ...waiting)
    return { tasks, lookAgainAtMs: lookAgainAtMs === Infinity ? undefined : lookAgainAtMs }
  }

  #recorded(task: BackgroundTask, { attempt, seq }: Pick<ToolCallKey, 'attempt' | 'seq'>): RecordedTask {
    const row = this.#row(task, { attempt, seq })
    const ref = { runId: row.runId, nodeId: this.#nodes.tasks, iteration: 0, attempt, seq }
    return {
      end: async (end) => {
        await this.#never('recording the end of a task in the background failed', () =>
          this.#journal.updateToolCall(
            ref,
            'output' in end
              ? { status: 'success', outputJson: JSON.stringify(end), whole: true }
              : { status: 'error', errorJson: JSON.stringify({ name: 'ToolFailure', message: end.failure }), whole: true },
          ),
        )
      },
      told: async () => {
        await this.#never('recording that a task in the background was told of failed', () =>
          this.#journal.insertToolCall({ ...row, nodeId: this.#nodes.told, status: 'success' }),
        )
      },
    }
  }

  #row({ agent, sessionId }: BackgroundTask, at: Pick<ToolCallKey, 'attempt' | 'seq'>): NewToolCall {
    const inputJson = JSON.stringify({ subagent_type: agent, session_id: sessionId })
    return { runId: this.#runId, nodeId: this.#nodes.tasks, ...at, toolName: 'task', inputJson, sideEffect: true }
  }

  async #never(what: string, write: () => unknown): Promise<void> {
    try {
      await write()
    } catch (error) {
      // Another process that has opened the session was faster.
      if (ToolError.isInstance(error) && error.code === 'JOURNAL_DUPLICATE_CALL') return
      markFailed(this.#journal)
      warnOnce(this.#journal, error, what)
    }
  }
}

const numbersOf = ({ attempt, seq }: ToolCallRow): string => `${attempt}:${seq}`

/** `undefined` for one that is still at work in another process. */
function endOf({ status, outputJson, errorJson }: ToolCallRow): TaskEnd | undefined {
  if (status === 'started') return undefined
  const { output } = objectOf(outputJson)
  if (status === 'success' && typeof output === 'string') return { output }
  const { message } = objectOf(errorJson)
  return { failure: status === 'error' && typeof message === 'string' ? message : HOST_DIED }
}

function taskOf({ inputJson }: ToolCallRow): BackgroundTask {
  const { subagent_type: agent, session_id: sessionId } = objectOf(inputJson)
  return { agent: typeof agent === 'string' ? agent : 'an agent', sessionId: typeof sessionId === 'string' ? sessionId : '' }
}

function objectOf(json: string | null): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json ?? '')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
