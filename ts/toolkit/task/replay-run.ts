import { getToolContext } from '../../journal/calls/context.js'
import { eitherSignal, unlessAborted } from '../../core/abort.js'
import { ToolError } from '../../core/errors.js'
import { abortSignal, checked, checkFunction, type Checks, checkText, parseOptions } from '../../core/options.js'
import type { Journal } from '../../journal/journal.js'
import type { ToolCallRow } from '../../journal/journal-store.js'
import { wholeRows } from '../../journal/read-rows.js'
import { checkJournal } from '../../journal/checks.js'
import { recordedError, wholeOutput } from '../../journal/calls/recorded-values.js'
import { hashArguments, ReplayedCalls } from './replayed-calls.js'

/** A recorded call, as a replay gives it again. */
export interface ReplayedCall {
  /** Its place in the run, from 0. */
  index: number
  runId: string
  nodeId: string
  iteration: number
  attempt: number
  seq: number
  toolName: string
  /** The recorded arguments: of `write` and `edit` with size and SHA-256 in place of the contents. */
  input: unknown
  status: ToolCallRow['status']
  /** What it returned; `undefined` where it failed, and where `isComplete` is false. */
  output: unknown
  /** What it threw, with name, message, code and details of then. */
  error: Error | undefined
  /** Whether the row holds the whole outcome. */
  isComplete: boolean
  /** In milliseconds since 1970. */
  startedAtMs: number
  finishedAtMs: number | null
  /** The whole row. */
  row: ToolCallRow
}

/** How {@link replayRun} replays. */
export interface ReplayRunOptions {
  /** Ends the replay: it throws the signal's reason. */
  signal?: AbortSignal | undefined
}

/** A recorded run: its calls one after the other, or code driven through them. */
export interface RunReplay extends AsyncIterable<ReplayedCall> {
  /**
   * Runs `fn` with every tool call in it answered from the run: with the recorded output, or by
   * throwing the recorded error. No tool runs, and nothing is recorded. A `runTask` in it takes the
   * recorded attempts of its task (by node and iteration) one after the other, and locks nothing.
   *
   * @returns what `fn` returns.
   * @throws {ToolError} REPLAY_DIFFERS at the first call that is another one than was recorded there,
   * also if `fn` catches that, and when `fn` ends before the run does; REPLAY_INCOMPLETE at a call
   * whose outcome the journal does not hold in full.
   */
  drive<T>(fn: () => T | PromiseLike<T>): Promise<T>
}

/**
 * Gives a recorded run again, without a model and without any effect.
 *
 * @throws {ToolError} INVALID_INPUT for an option that makes no sense; when it is read or driven, for a run that the
 * journal does not know.
 */
export function replayRun(journal: Journal, runId: string, options: ReplayRunOptions = {}): RunReplay {
  const { signal } = parseOptions('replayRun', options, { signal: abortSignal } satisfies Checks<ReplayRunOptions>)
  checked('replayRun', () => {
    checkJournal(journal)
    checkText('runId', runId)
  })
  // Outlines are enough: the output of a call is read when its turn comes.
  const load = async (): Promise<ToolCallRow[]> => {
    signal?.throwIfAborted()
    const rows = await journal.listRun(runId, { outline: true })
    if (rows.length === 0) throw unknownRun(runId)
    // A workflow engine also writes a row for each whole task.
    return rows.filter((row) => row.kind !== 'task')
  }
  return {
    async *[Symbol.asyncIterator]() {
      let index = 0
      for await (const rows of wholeRows(journal, await load())) {
        for (const row of rows) {
          signal?.throwIfAborted()
          yield replayed(row, index)
          index += 1
        }
      }
    },
    async drive(fn) {
      checked('replayRun(…).drive', () => checkFunction('fn', fn))
      const rows = await load()
      await hashArguments(journal, rows)
      const replay = new ReplayedCalls(journal, runId, rows)
      const stop = eitherSignal(eitherSignal(signal, getToolContext()?.signal), replay.signal)
      try {
        const result = await unlessAborted(Promise.resolve(replay.within(async () => fn(), { signal: stop })), signal)
        replay.finish()
        return result
      } catch (error) {
        signal?.throwIfAborted()
        // What follows from a difference is reported as the difference.
        if (replay.signal.aborted) throw replay.signal.reason
        throw error
      }
    },
  }
}

/** A journal knows a run by its calls alone. */
function unknownRun(runId: string): ToolError {
  const summary = 'The journal has no such run'
  return new ToolError({
    code: 'INVALID_INPUT',
    summary,
    place: `${summary}: \`${runId}\``,
    hint: 'Take an id that journal.listRuns() or `toolwright calls` gives.',
    details: { runId },
  })
}

function replayed(row: ToolCallRow, index: number): ReplayedCall {
  const { runId, nodeId, iteration, attempt, seq, toolName, status, startedAtMs, finishedAtMs } = row
  const whole = status === 'success' ? wholeOutput(row) : undefined
  const error = status === 'success' || status === 'started' ? undefined : recordedError(row.errorJson)
  return {
    index,
    runId,
    nodeId,
    iteration,
    attempt,
    seq,
    toolName,
    input: inputOf(row),
    status,
    output: whole?.output,
    error,
    isComplete: whole !== undefined || error !== undefined,
    startedAtMs,
    finishedAtMs,
    row,
  }
}

function inputOf({ inputJson }: ToolCallRow): unknown {
  try {
    return inputJson === null ? undefined : (JSON.parse(inputJson) as unknown)
  } catch {
    return inputJson
  }
}
