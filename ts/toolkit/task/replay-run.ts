import { eitherSignal, unlessAborted } from '../../core/abort.js'
import { ToolError } from '../../core/errors.js'
import { nativeArgsHash } from '../../core/native.js'
import { abortSignal, callable, type Checks, parseOptions, text } from '../../core/options.js'
import type { CallRecorder, OpenRecord, StartingCall } from '../../journal/calls/call-record.js'
import { getToolContext, runWithToolContext, type ToolContext } from '../../journal/calls/context.js'
import { asJson, recordedError, wholeOutput } from '../../journal/calls/recorded-values.js'
import { recordToolCallIn } from '../../journal/calls/recorders.js'
import { isPatchInCommand } from '../../journal/call-target.js'
import { checkJournal } from '../../journal/checks.js'
import type { ToolCallRow } from '../../journal/journal-store.js'
import type { Journal } from '../../journal/journal.js'
import { wholeRows } from '../../journal/read-rows.js'

/** A recorded call in a replay. */
export interface ReplayedCall extends Pick<
  ToolCallRow,
  'runId' | 'nodeId' | 'iteration' | 'attempt' | 'seq' | 'toolName' | 'status' | 'startedAtMs' | 'finishedAtMs'
> {
  /** Its place in the run, from 0. */
  index: number
  /** The recorded arguments. Those of `write` and `edit` have size and SHA-256 in place of the contents. */
  input: unknown
  /** The result; `undefined` if the call failed, or if `isComplete` is false. */
  output: unknown
  /** The error, with its original name, message, code and details. */
  error: Error | undefined
  /** Whether the row has the whole outcome. */
  isComplete: boolean
  /** The whole row. */
  row: ToolCallRow
}

/** Options of {@link replayRun}. */
export interface ReplayRunOptions {
  /** Ends the replay, which throws the signal's reason. */
  signal?: AbortSignal | undefined
}

/** A recorded run: iterate over its calls, or run code against them. */
export interface RunReplay extends AsyncIterable<ReplayedCall> {
  /**
   * Runs `fn` and answers every tool call in it from the run: with the recorded output, or by throwing the recorded error. No
   * tool runs, and nothing is recorded. A `runTask` in it takes the recorded attempts of its task (by node and iteration) one
   * after the other, and locks nothing.
   *
   * @returns the result of `fn`.
   * @throws {ToolError} REPLAY_DIFFERS at the first call that differs from the recorded one, even if `fn` catches that error,
   * and if `fn` ends before the run does; REPLAY_INCOMPLETE at a call whose outcome the journal does not have in full.
   */
  drive<T>(fn: () => T | PromiseLike<T>): Promise<T>
}

/**
 * Replays a recorded run, without a model and without effects.
 *
 * @example
 * ```ts
 * for await (const call of replayRun(journal, 'run-7')) console.log(call.toolName, call.input)
 * await replayRun(journal, 'run-7').drive(() => program())
 * ```
 * @throws {ToolError} INVALID_INPUT for an invalid option, and when the replay starts, for a run that the journal does not
 * know.
 */
export function replayRun(journal: Journal, runId: string, options: ReplayRunOptions = {}): RunReplay {
  const { signal } = parseOptions('replayRun', options, { signal: abortSignal } satisfies Checks<ReplayRunOptions>)
  parseOptions('replayRun', { journal, runId }, { journal: checkJournal, runId: text })
  // Outlines are enough here. The output of a call is read when its turn comes.
  const load = async (): Promise<ToolCallRow[]> => {
    signal?.throwIfAborted()
    const rows = await journal.listRun(runId, { outline: true })
    if (rows.length === 0) throw unknownRun(runId)
    // Skips a workflow engine's rows for whole tasks, and patches in commands, which were no calls of a tool.
    return rows.filter((row) => row.kind !== 'task' && !isPatchInCommand(row))
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
      parseOptions('replayRun(…).drive', { fn }, { fn: callable() })
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
        // An error that follows from a difference is reported as the difference.
        if (replay.signal.aborted) throw replay.signal.reason
        throw error
      }
    },
  }
}

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
  const { whole, error } = outcomeOf(row)
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

/** The result or the error of a call, if its row has all of it. */
function outcomeOf(row: ToolCallRow): { whole?: { output: unknown } | undefined; error?: Error | undefined } {
  if (row.status === 'success') return { whole: wholeOutput(row) }
  return row.status === 'started' ? {} : { error: recordedError(row.errorJson) }
}

function inputOf({ inputJson }: ToolCallRow): unknown {
  try {
    return inputJson === null ? undefined : (JSON.parse(inputJson) as unknown)
  } catch {
    return inputJson
  }
}

/** One attempt of a task, where only its calls may be made. */
type ReplayScope = Pick<ToolCallRow, 'nodeId' | 'iteration' | 'attempt'>

/** A recorded run that answers the calls of code. Each call has to match the recorded one. */
export class ReplayedCalls {
  readonly runId: string
  readonly rows: readonly ToolCallRow[]
  readonly #used = new Set<ToolCallRow>()
  readonly #attempts = new Map<string, number>()
  readonly #stopped = new AbortController()
  readonly #journal: Journal

  constructor(journal: Journal, runId: string, rows: readonly ToolCallRow[]) {
    this.#journal = journal
    this.runId = runId
    this.rows = rows
  }

  /** Aborts at the first difference. */
  get signal(): AbortSignal {
    return this.#stopped.signal
  }

  /** Runs `fn` without running tools: each call gets its recorded outcome. */
  within<T>(fn: () => T, context: ToolContext = {}, scope?: ReplayScope): T {
    const recorder: CallRecorder = { start: (call) => this.#start(call, scope) }
    const recordToolCall = recordToolCallIn(recorder)
    replays.set(recordToolCall, this)
    return runWithToolContext({ runId: this.runId, ...context, journal: undefined, recordToolCall }, fn)
  }

  nextAttempt(nodeId: string, iteration: number): number {
    const name = JSON.stringify([nodeId, iteration])
    const last = this.#attempts.get(name) ?? 0
    const recorded = this.rows.filter((row) => row.nodeId === nodeId && row.iteration === iteration && row.attempt > last)
    const next = recorded.length === 0 ? last + 1 : Math.min(...recorded.map((row) => row.attempt))
    this.#attempts.set(name, next)
    return next
  }

  /** @throws {ToolError} REPLAY_DIFFERS at the first difference, or if calls are missing. */
  finish(): void {
    this.signal.throwIfAborted()
    const remaining = this.rows.find((row) => !this.#used.has(row))
    if (remaining !== undefined) throw this.#differs(remaining, undefined)
  }

  async #start({ metadata, input }: StartingCall, scope: ReplayScope | undefined): Promise<OpenRecord> {
    this.signal.throwIfAborted()
    const json = asJson(input)
    const argsHash = await nativeArgsHash(json ?? 'null')
    const row = await this.#take({ toolName: metadata.name, argsHash, json }, scope)
    const [whole = row] = await this.#journal.rows([row.row])
    const recorded = outputOf(whole)
    return { seq: row.seq, key: null, recorded, succeeded: () => undefined, failed: () => undefined }
  }

  /** The next recorded call, if it is this one. Calls that overlapped may come in another order. */
  async #take(call: MadeCall, scope: ReplayScope | undefined): Promise<ToolCallRow> {
    const remaining = this.rows.filter((row) => !this.#used.has(row) && isIn(row, scope))
    let firstEnd = Infinity
    for (const row of remaining) {
      if (row.startedAtMs >= firstEnd && row !== remaining[0]) break
      // Marks the row before the first await, so that no other call takes it.
      if (row.toolName === call.toolName && (row.argsHash ?? hashes.get(row)) === call.argsHash) {
        this.#used.add(row)
        return row
      }
      firstEnd = Math.min(firstEnd, row.finishedAtMs ?? row.startedAtMs)
    }
    this.#stopped.abort(this.#differs(remaining[0], call))
    throw this.signal.reason
  }

  #differs(row: ToolCallRow | undefined, call: MadeCall | undefined): ToolError {
    const expected = row && { toolName: row.toolName, input: row.inputJson, nodeId: row.nodeId, attempt: row.attempt, seq: row.seq }
    const actual = call && { toolName: call.toolName, input: call.json ?? null }
    const index = row === undefined ? this.rows.length : this.rows.indexOf(row)
    const summary = 'The replay differs from the recorded run'
    const was = expected === undefined ? 'the run has ended' : `${expected.toolName} ${short(expected.input)} was recorded`
    const is = actual === undefined ? 'the code has ended' : `${actual.toolName} ${short(actual.input)} was called`
    return new ToolError({
      code: 'REPLAY_DIFFERS',
      summary,
      place: `${summary} at call ${index + 1} of ${this.rows.length}: ${was}, ${is}`,
      hint: 'Correct the code, or record a new run.',
      details: { runId: this.runId, index, expected: expected ?? null, found: actual ?? null },
    })
  }
}

interface MadeCall {
  toolName: string
  argsHash: string
  json: string | undefined
}

const hashes = new WeakMap<ToolCallRow, string>()

/** Computes the hashes that rows of other programs lack. */
async function hashArguments(journal: Journal, rows: readonly ToolCallRow[]): Promise<void> {
  for (const row of rows) {
    if (row.argsHash !== null) continue
    const inputJson = row.inputJson ?? (await journal.rows([row.row]))[0]?.inputJson
    hashes.set(row, await nativeArgsHash(inputJson ?? 'null'))
  }
}

const replays = new WeakMap<object, ReplayedCalls>()

export function replayOf(context: ToolContext | undefined): ReplayedCalls | undefined {
  return context?.recordToolCall === undefined ? undefined : replays.get(context.recordToolCall)
}

function isIn(row: ToolCallRow, scope: ReplayScope | undefined): boolean {
  if (scope === undefined) return true
  return row.nodeId === scope.nodeId && row.iteration === scope.iteration && row.attempt === scope.attempt
}

/** The output of a recorded call, or the error it threw. @throws {ToolError} REPLAY_INCOMPLETE */
function outputOf(row: ToolCallRow): { output: unknown } {
  const { whole, error } = outcomeOf(row)
  if (whole !== undefined) return whole
  if (error !== undefined) throw error
  const { runId, nodeId, iteration, attempt, seq, toolName } = row
  const summary = row.status === 'started' ? 'The recorded call has no outcome' : 'The recorded outcome is not complete'
  throw new ToolError({
    code: 'REPLAY_INCOMPLETE',
    summary,
    place: `${summary}: ${toolName} (attempt ${attempt}, seq ${seq}) of \`${nodeId}\` in run \`${runId}\``,
    hint: 'Record the run with a larger maxOutputBytes of the journal.',
    details: { runId, nodeId, iteration, toolName, attempt, seq },
  })
}

const short = (json: string | null): string => (json === null ? '' : json.length > 200 ? `${json.slice(0, 200)}…` : json)
