import type { CallIdentity } from '../../../index.js'
import { runWithToolContext, type ToolContext } from '../../journal/calls/context.js'
import { ToolError } from '../../core/errors.js'
import { nativeArgsHash } from '../../core/native.js'
import type { CallRecorder, OpenRecord, StartingCall } from '../../journal/calls/call-record.js'
import { recordToolCallIn } from '../../journal/calls/recorders.js'
import type { Journal } from '../../journal/journal.js'
import type { ToolCallRow } from '../../journal/journal-store.js'
import { asJson, recordedError, wholeOutput } from '../../journal/calls/recorded-values.js'

/** The calls of one task's attempt, where only these may be made. */
export interface ReplayScope {
  nodeId: string
  iteration: number
  attempt: number
}

/** A recorded run that code is driven through: each call has to be the one that was recorded there. */
export class ReplayedCalls {
  readonly runId: string
  readonly rows: readonly ToolCallRow[]
  readonly #used = new Set<ToolCallRow>()
  readonly #attempts = new Map<string, number>()
  readonly #stopped = new AbortController()
  #difference: ToolError | undefined

  readonly #journal: Journal

  /** The rows may be outlines. */
  constructor(journal: Journal, runId: string, rows: readonly ToolCallRow[]) {
    this.#journal = journal
    this.runId = runId
    this.rows = rows
  }

  /** Aborted at the first difference. */
  get signal(): AbortSignal {
    return this.#stopped.signal
  }

  /** Runs `fn` where no tool runs: each call gets what was recorded. */
  within<T>(fn: () => T, context: ToolContext = {}, scope?: ReplayScope): T {
    const recorder: CallRecorder = { start: (call) => this.#start(call, scope) }
    const recordToolCall = recordToolCallIn(recorder)
    replays.set(recordToolCall, this)
    return runWithToolContext({ runId: this.runId, ...context, journal: undefined, recordToolCall }, fn)
  }

  /** The attempt that comes next in the run. */
  nextAttempt(nodeId: string, iteration: number): number {
    const name = JSON.stringify([nodeId, iteration])
    const last = this.#attempts.get(name) ?? 0
    const recorded = this.rows.filter((row) => row.nodeId === nodeId && row.iteration === iteration && row.attempt > last)
    const next = recorded.length === 0 ? last + 1 : Math.min(...recorded.map((row) => row.attempt))
    this.#attempts.set(name, next)
    return next
  }

  /** @throws {ToolError} REPLAY_DIFFERS at the first difference, or when calls were left out. */
  finish(): void {
    if (this.#difference !== undefined) throw this.#difference
    const left = this.rows.find((row) => !this.#used.has(row))
    if (left !== undefined) throw this.#differs(left, undefined)
  }

  async #start({ metadata, input }: StartingCall, scope: ReplayScope | undefined): Promise<OpenRecord> {
    if (this.#difference !== undefined) throw this.#difference
    const json = asJson(input)
    const argsHash = await nativeArgsHash(json ?? 'null')
    const row = await this.#take({ toolName: metadata.name, argsHash, json }, scope)
    const [whole = row] = await this.#journal.rows([row.row])
    const recorded = outputOf(whole)
    return { seq: row.seq, key: null, recorded, succeeded: () => undefined, failed: () => undefined }
  }

  /**
   * The next recorded call, if it is this one. Calls that ran at the same time may come in another
   * order than they were recorded in.
   */
  async #take(call: ReplayedCall, scope: ReplayScope | undefined): Promise<ToolCallRow> {
    const left = this.rows.filter((row) => !this.#used.has(row) && isIn(row, scope))
    let firstEnd = Infinity
    for (const row of left) {
      if (row.startedAtMs >= firstEnd && row !== left[0]) break
      // Marked before anything is awaited, so that no other call takes it.
      if (row.toolName === call.toolName && (row.argsHash ?? hashes.get(row)) === call.argsHash) {
        this.#used.add(row)
        return row
      }
      firstEnd = Math.min(firstEnd, row.finishedAtMs ?? row.startedAtMs)
    }
    this.#difference ??= this.#differs(left[0], call)
    this.#stopped.abort(this.#difference)
    throw this.#difference
  }

  #differs(row: ToolCallRow | undefined, call: ReplayedCall | undefined): ToolError {
    const expected = row && { toolName: row.toolName, input: row.inputJson, nodeId: row.nodeId, attempt: row.attempt, seq: row.seq }
    const found = call && { toolName: call.toolName, input: call.json ?? null }
    const index = row === undefined ? this.rows.length : this.rows.indexOf(row)
    const summary = 'The replay differs from the recorded run'
    const was = expected === undefined ? 'the run has ended' : `${expected.toolName} ${short(expected.input)} was recorded`
    const is = found === undefined ? 'the code has ended' : `${found.toolName} ${short(found.input)} was called`
    return new ToolError({
      code: 'REPLAY_DIFFERS',
      summary,
      place: `${summary} at call ${index + 1} of ${this.rows.length}: ${was}, ${is}`,
      hint: 'Correct the code, or record a new run.',
      details: { runId: this.runId, index, expected: expected ?? null, found: found ?? null },
    })
  }
}

interface ReplayedCall extends Pick<CallIdentity, 'argsHash'> {
  toolName: string
  json: string | undefined
}

const hashes = new WeakMap<ToolCallRow, string>()

/** Computes the hashes that rows of other programs lack. */
export async function hashArguments(journal: Journal, rows: readonly ToolCallRow[]): Promise<void> {
  for (const row of rows) {
    if (row.argsHash !== null) continue
    const inputJson = row.inputJson ?? (await journal.rows([row.row]))[0]?.inputJson
    hashes.set(row, await nativeArgsHash(inputJson ?? 'null'))
  }
}

const replays = new WeakMap<object, ReplayedCalls>()

/** The replay that a context belongs to. */
export function replayOf(context: ToolContext | undefined): ReplayedCalls | undefined {
  return context?.recordToolCall === undefined ? undefined : replays.get(context.recordToolCall)
}

function isIn(row: ToolCallRow, scope: ReplayScope | undefined): boolean {
  if (scope === undefined) return true
  return row.nodeId === scope.nodeId && row.iteration === scope.iteration && row.attempt === scope.attempt
}

/**
 * The output of a recorded call.
 *
 * @throws the error it threw.
 * @throws {ToolError} REPLAY_INCOMPLETE where the row does not hold all of it.
 */
function outputOf(row: ToolCallRow): { output: unknown } {
  const output = row.status === 'success' ? wholeOutput(row) : undefined
  if (output !== undefined) return output
  const thrown = row.status === 'success' || row.status === 'started' ? undefined : recordedError(row.errorJson)
  if (thrown !== undefined) throw thrown
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
