import { parseObject } from '../../core/parse-rows.js'
import { ToolError } from '../../core/errors.js'
import { markFailed, warnOnce } from '../../journal/calls/call-record.js'
import type { Journal } from '../../journal/journal.js'
import type { NewToolCall, ToolCallKey, ToolCallRow } from '../../journal/journal-store.js'

export interface BackgroundTask {
  agent: string
  sessionId: string
}

export interface BackgroundProcess {
  processId: string
  command: string
}

/** What goes on while its caller goes on: a subagent, or a process. */
export type BackgroundWork = BackgroundTask | BackgroundProcess

export const isProcess = (work: BackgroundWork): work is BackgroundProcess => 'processId' in work

/** The answer of a subagent, or how a process ended; or why there is none. `facts` are only recorded. */
export type WorkEnd = { output: string; facts?: Record<string, unknown> } | { failure: string }

/** The record of one piece of work. Its methods do not reject, since they report what has happened. */
export interface RecordedWork {
  end(end: WorkEnd): Promise<void>
  markDelivered(): Promise<void>
}

/** Work of earlier openings whose outcome the parent did not get. */
export interface UndeliveredWork {
  works: { work: BackgroundWork; end: WorkEnd; recorded: RecordedWork }[]
  /** When to look again, in milliseconds since 1970, if some may go on in another process. */
  lookAgainAtMs: number | undefined
  /** The highest number that a process of an earlier opening has in its id. */
  processes: number
}

const HOST_DIED =
  'its process ended before it had finished, and how far it had come is not known. Look at what it changed before handing it out again.'
const HOST_SILENT =
  'it was handed out on another machine, and has not ended in the time that a task may take; how far it has come is not known. Look at what it changed before handing it out again.'
const PROCESS_DIED = 'has ended: the program that ran it was ended'
const PROCESS_SILENT = 'is not known any longer: it was started on another machine'
/** Extra time for a task on another machine, since clocks differ. */
const GRACE_MS = 60_000
/** The pause before a process that runs is looked at again. One that was killed may take this long to go. */
const PAUSE_MS = 1_000

/**
 * The background tasks and the processes of a session in a journal. Each has a row under a node beside the session's own, and a
 * row with the same numbers under another node once the parent has its outcome. When the session is opened again, the difference
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

  /** Records work before it begins. Rejects if it must not begin because it cannot be recorded. */
  async begin(work: BackgroundWork): Promise<RecordedWork | undefined> {
    this.#seq += 1
    const at = { attempt: this.#attempt, seq: this.#seq }
    try {
      // A side effect, so that the row survives this process.
      await this.#journal.insertToolCall({ ...this.#row(work, at), nodeId: this.#nodes.tasks })
      return this.#recorded(work, at)
    } catch (error) {
      if (this.#journal.onFailure === 'fail') throw error
      warnOnce(this.#journal, error, `a ${nameOf(work)} in the background is begun without a record`)
      return undefined
    }
  }

  /**
   * The tasks that earlier openings of the session left, each once. A process that still runs keeps its tasks. A task on
   * another machine, whose processes cannot be checked, is given up after `longestMs`.
   */
  async undelivered(longestMs: number): Promise<UndeliveredWork> {
    if (this.#attempt === 1) return { works: [], lookAgainAtMs: undefined, processes: 0 }
    const list = (node: string): Promise<ToolCallRow[]> => this.#journal.listToolCalls(this.#runId, node, 0)
    let rows = await list(this.#nodes.tasks)
    let undecided = 0
    if (rows.some(({ status }) => status === 'started')) {
      undecided = (await this.#journal.recover()).undecided
      rows = await list(this.#nodes.tasks)
    }
    const delivered = new Set((await list(this.#nodes.delivered)).map(numbersOf))
    const undelivered = rows.filter(
      (row) => row.attempt < this.#attempt && !delivered.has(numbersOf(row)) && !this.#returned.has(numbersOf(row)),
    )
    const dueAtMs = ({ startedAtMs }: ToolCallRow): number => (undecided === 0 ? Infinity : startedAtMs + longestMs + GRACE_MS)
    const now = Date.now()
    const works = undelivered.flatMap((row) => {
      const work = workOf(row)
      const silent = { failure: isProcess(work) ? PROCESS_SILENT : HOST_SILENT }
      const end = endOf(row, work) ?? (dueAtMs(row) <= now ? silent : undefined)
      if (end === undefined) return []
      this.#returned.add(numbersOf(row))
      return [{ work, end, recorded: this.#recorded(work, row) }]
    })
    const waits = undelivered.some((row) => !this.#returned.has(numbersOf(row)))
    const processes = rows.map(workOf).map((work) => (isProcess(work) ? Number(/^p(\d{1,9})$/u.exec(work.processId)?.[1] ?? 0) : 0))
    return { works, lookAgainAtMs: waits ? now + PAUSE_MS : undefined, processes: Math.max(0, ...processes) }
  }

  #recorded(work: BackgroundWork, { attempt, seq }: Pick<ToolCallKey, 'attempt' | 'seq'>): RecordedWork {
    const row = this.#row(work, { attempt, seq })
    const name = nameOf(work)
    const ref = { runId: row.runId, nodeId: this.#nodes.tasks, iteration: 0, attempt, seq }
    return {
      end: (end) =>
        this.#withoutFailing(`recording the end of a ${name} in the background failed`, () =>
          this.#journal.updateToolCall(
            ref,
            'output' in end
              ? { status: 'success', outputJson: JSON.stringify({ output: end.output, ...end.facts }), whole: true }
              : { status: 'error', errorJson: JSON.stringify({ name: 'ToolFailure', message: end.failure }), whole: true },
          ),
        ),
      markDelivered: () =>
        this.#withoutFailing(`recording that a ${name} in the background was told of failed`, () =>
          this.#journal.insertToolCall({ ...row, nodeId: this.#nodes.delivered, status: 'success' }),
        ),
    }
  }

  #row(work: BackgroundWork, at: Pick<ToolCallKey, 'attempt' | 'seq'>): NewToolCall {
    const input = isProcess(work)
      ? { process_id: work.processId, command: work.command }
      : { subagent_type: work.agent, session_id: work.sessionId }
    const place = { runId: this.#runId, nodeId: this.#nodes.tasks, ...at }
    return { ...place, toolName: nameOf(work), inputJson: JSON.stringify(input), sideEffect: true }
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

/** The names of the rows. */
const nameOf = (work: BackgroundWork): 'task' | 'process' => (isProcess(work) ? 'process' : 'task')

/** `undefined` for what still runs in another process. */
function endOf({ status, outputJson, errorJson }: ToolCallRow, work: BackgroundWork): WorkEnd | undefined {
  if (status === 'started') return undefined
  const { output } = parseObject(outputJson) ?? {}
  if (status === 'success' && typeof output === 'string') return { output }
  const { message } = parseObject(errorJson) ?? {}
  return { failure: status === 'error' && typeof message === 'string' ? message : isProcess(work) ? PROCESS_DIED : HOST_DIED }
}

function workOf({ toolName, inputJson }: ToolCallRow): BackgroundWork {
  const { subagent_type: agent, session_id: sessionId, process_id: processId, command } = parseObject(inputJson) ?? {}
  if (toolName === 'process') {
    return { processId: typeof processId === 'string' ? processId : '', command: typeof command === 'string' ? command : '' }
  }
  return { agent: typeof agent === 'string' ? agent : 'an agent', sessionId: typeof sessionId === 'string' ? sessionId : '' }
}
