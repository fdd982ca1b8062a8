import { parseObject } from '../../core/parse-rows.js'
import { ToolError } from '../../core/errors.js'
import { markFailed, warnOnce } from '../../journal/calls/call-record.js'
import type { Journal } from '../../journal/journal.js'
import type { NewToolCall, ToolCallKey, ToolCallRow } from '../../journal/journal-store.js'

export interface BackgroundTask {
  agent: string
  sessionId: string
}

export type TaskEnd = { output: string } | { failure: string }

/** The record of one task. Its methods do not reject, since they report what has happened. */
export interface RecordedTask {
  end(end: TaskEnd): Promise<void>
  markDelivered(): Promise<void>
}

/** Tasks of earlier openings whose outcome the parent did not get. */
export interface UndeliveredTasks {
  tasks: { task: BackgroundTask; end: TaskEnd; recorded: RecordedTask }[]
  /** When to look again, in milliseconds since 1970, if a task runs on another machine. */
  lookAgainAtMs: number | undefined
}

const HOST_DIED =
  'its process ended before it had finished, and how far it had come is not known. Look at what it changed before handing it out again.'
const HOST_SILENT =
  'it was handed out on another machine, and has not ended in the time that a task may take; how far it has come is not known. Look at what it changed before handing it out again.'
/** Extra time for a task on another machine, since clocks differ. */
const GRACE_MS = 60_000

/**
 * The background tasks of a session in a journal. Each has a row under a node beside the session's own, and a row with the
 * same numbers under another node once the parent has its outcome. When the session is opened again, the difference
 * between the two is still to be delivered.
 */
export class BackgroundRecord {
  readonly #journal: Journal
  readonly #runId: string
  readonly #nodes: { tasks: string; delivered: string }
  readonly #attempt: number
  /** The numbers of the tasks that `undelivered` has returned. */
  readonly #returned = new Set<string>()
  #seq = 0

  constructor(journal: Journal, { runId, nodeId }: { runId: string; nodeId: string }, attempt: number) {
    this.#journal = journal
    this.#runId = runId
    // Nodes of children begin with a number, so these names are free.
    this.#nodes = { tasks: `${nodeId}/background`, delivered: `${nodeId}/background-told` }
    this.#attempt = attempt
  }

  /** Records a task before it begins. Rejects if the task must not begin because it cannot be recorded. */
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
   * The tasks that earlier openings of the session left, each once. A process that still runs keeps its tasks. A task on
   * another machine, whose processes cannot be checked, is given up after `longestMs`.
   */
  async undelivered(longestMs: number): Promise<UndeliveredTasks> {
    if (this.#attempt === 1) return { tasks: [], lookAgainAtMs: undefined }
    const list = (node: string): Promise<ToolCallRow[]> => this.#journal.listToolCalls(this.#runId, node, 0)
    let rows = await list(this.#nodes.tasks)
    let undecided = 0
    if (rows.some(({ status }) => status === 'started')) {
      undecided = (await this.#journal.recover()).undecided
      rows = await list(this.#nodes.tasks)
    }
    const delivered = new Set((await list(this.#nodes.delivered)).map(numbersOf))
    const left = rows.filter((row) => row.attempt < this.#attempt && !delivered.has(numbersOf(row)) && !this.#returned.has(numbersOf(row)))
    const dueAtMs = ({ startedAtMs }: ToolCallRow): number => (undecided === 0 ? Infinity : startedAtMs + longestMs + GRACE_MS)
    const now = Date.now()
    const tasks = left.flatMap((row) => {
      const end = endOf(row) ?? (dueAtMs(row) <= now ? { failure: HOST_SILENT } : undefined)
      if (end === undefined) return []
      this.#returned.add(numbersOf(row))
      const task = taskOf(row)
      return [{ task, end, recorded: this.#recorded(task, row) }]
    })
    const waiting = left.filter((row) => !this.#returned.has(numbersOf(row))).map(dueAtMs)
    const lookAgainAtMs = Math.min(Infinity, ...waiting)
    return { tasks, lookAgainAtMs: lookAgainAtMs === Infinity ? undefined : lookAgainAtMs }
  }

  #recorded(task: BackgroundTask, { attempt, seq }: Pick<ToolCallKey, 'attempt' | 'seq'>): RecordedTask {
    const row = this.#row(task, { attempt, seq })
    const ref = { runId: row.runId, nodeId: this.#nodes.tasks, iteration: 0, attempt, seq }
    return {
      end: (end) =>
        this.#withoutFailing('recording the end of a task in the background failed', () =>
          this.#journal.updateToolCall(
            ref,
            'output' in end
              ? { status: 'success', outputJson: JSON.stringify(end), whole: true }
              : { status: 'error', errorJson: JSON.stringify({ name: 'ToolFailure', message: end.failure }), whole: true },
          ),
        ),
      markDelivered: () =>
        this.#withoutFailing('recording that a task in the background was told of failed', () =>
          this.#journal.insertToolCall({ ...row, nodeId: this.#nodes.delivered, status: 'success' }),
        ),
    }
  }

  #row({ agent, sessionId }: BackgroundTask, at: Pick<ToolCallKey, 'attempt' | 'seq'>): NewToolCall {
    const inputJson = JSON.stringify({ subagent_type: agent, session_id: sessionId })
    return { runId: this.#runId, nodeId: this.#nodes.tasks, ...at, toolName: 'task', inputJson, sideEffect: true }
  }

  async #withoutFailing(what: string, write: () => unknown): Promise<void> {
    try {
      await write()
    } catch (error) {
      // Another process that opened the session recorded it first.
      if (ToolError.isInstance(error) && error.code === 'JOURNAL_DUPLICATE_CALL') return
      markFailed(this.#journal)
      warnOnce(this.#journal, error, what)
    }
  }
}

const numbersOf = ({ attempt, seq }: ToolCallRow): string => `${attempt}:${seq}`

/** `undefined` for a task that still runs in another process. */
function endOf({ status, outputJson, errorJson }: ToolCallRow): TaskEnd | undefined {
  if (status === 'started') return undefined
  const { output } = parseObject(outputJson) ?? {}
  if (status === 'success' && typeof output === 'string') return { output }
  const { message } = parseObject(errorJson) ?? {}
  return { failure: status === 'error' && typeof message === 'string' ? message : HOST_DIED }
}

function taskOf({ inputJson }: ToolCallRow): BackgroundTask {
  const { subagent_type: agent, session_id: sessionId } = parseObject(inputJson) ?? {}
  return { agent: typeof agent === 'string' ? agent : 'an agent', sessionId: typeof sessionId === 'string' ? sessionId : '' }
}
