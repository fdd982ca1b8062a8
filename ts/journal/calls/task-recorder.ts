import type { CallIdentity, CallKeys } from '../../../index.js'
import { andThen, type Awaitable, isPromiseLike, unlessAborted } from '../../core/abort.js'
import { steadyNow } from '../../core/clock.js'
import { ToolError, wasRefused } from '../../core/errors.js'
import { nativeCallKeys } from '../../core/native.js'
import type { Journal } from '../journal.js'
import type { TaskId, ToolCallEnd, ToolCallRow } from '../journal-store.js'
import { type CallRecorder, CallRow, type OpenRecord, type StartingCall, warnOnce } from './call-record.js'
import type { ToolContext } from './context.js'
import { patchRow } from './patches-in-call.js'
import { declaresItsKey } from './read-keys.js'
import { errorAsJson, type RecordedInput, recordedInput, recordedOutput, wholeOutput } from './recorded-values.js'

/** Records the calls of one attempt of a task in a journal. */
export class TaskRecorder implements CallRecorder {
  readonly journal: Journal
  readonly task: TaskId
  readonly attempt: number
  /** Called before a call with a side effect is made; throws for one that must not be. */
  guard: ((toolName: string) => void) | undefined
  /** Whether identical finished calls give their recorded output. */
  replaysRecorded = false
  #keys: CallKeys | undefined
  #preparing: Promise<void> | undefined
  #seq = 0
  #running = 0
  #waiting: (() => void)[] = []
  #ended = false
  /** Whether the attempt cannot have rows from before. */
  readonly isNew: boolean

  /** `isNew` says that the attempt cannot have rows yet. */
  constructor(journal: Journal, task: TaskId, attempt: number, isNew = false) {
    this.isNew = isNew
    this.journal = journal
    this.task = task
    this.attempt = attempt
  }

  get seq(): number {
    return this.#seq
  }

  /** Continues the numbers and keys of this attempt from the rows that it has already, as outlines. */
  async prepare(made: readonly ToolCallRow[]): Promise<void> {
    const keys = await nativeCallKeys(this.task)
    for (const row of made) {
      if (row.attempt !== this.attempt) continue
      this.#seq = Math.max(this.#seq, row.seq)
      if (!row.acted) continue
      if (row.argsHash !== null && row.ordinal !== null) keys.occupy(row.toolName, row.argsHash, row.ordinal)
      else {
        // An outline leaves out long arguments.
        const inputJson = row.inputJson ?? (await this.journal.rows([row.row]))[0]?.inputJson
        if (typeof inputJson === 'string') keys.take(row.toolName, inputJson)
      }
    }
    this.#keys = keys
  }

  /** The same at the first call of a recorder that was not prepared. */
  async #prepareLate(): Promise<void> {
    try {
      const { runId, nodeId, iteration } = this.task
      await this.prepare(this.isNew ? [] : await this.journal.listToolCalls(runId, nodeId, iteration, { outline: true }))
    } catch (error) {
      this.#preparing = undefined
      if (this.journal.onFailure === 'fail') throw error
      warnOnce(this.journal, error, 'calls may be made without a record')
      await this.prepare([])
    }
  }

  start(call: StartingCall): Awaitable<OpenRecord> {
    const keys = this.#keys
    if (keys === undefined) return (this.#preparing ??= this.#prepareLate()).then(() => this.start(call))
    return andThen(recordedInput(call.input), (input) => this.#startWith(call, keys, input))
  }

  #startWith(call: StartingCall, keys: CallKeys, input: RecordedInput): Awaitable<OpenRecord> {
    const { metadata, builtIn } = call
    if (this.#ended) throw this.#taskEnded(metadata.name)
    // A built-in tool uses no key, and its row holds the arguments that the hash would be of.
    const identity = builtIn && !this.replaysRecorded ? undefined : keys.take(metadata.name, input.identity)
    const redacts = !builtIn && this.journal.redactKeys
    const inputJson = redacts && input.inputJson !== undefined ? keys.withoutSecrets(input.inputJson) : input.inputJson
    const giveBack = (): void => {
      if (identity !== undefined) keys.giveBack(metadata.name, identity.argsHash, identity.ordinal)
    }
    const failed = (error: unknown): never => {
      giveBack()
      throw error
    }
    const begin = (): Awaitable<OpenRecord> => {
      try {
        if (metadata.sideEffect) this.guard?.(metadata.name)
        const begun = this.#begin(call, inputJson, identity, giveBack)
        return isPromiseLike(begun) ? begun.then(undefined, failed) : begun
      } catch (error) {
        return failed(error)
      }
    }
    return this.replaysRecorded && identity !== undefined ? this.#recordedOr(call, identity, begin) : begin()
  }

  /** The recorded output of an identical call, or else a call. */
  async #recordedOr(
    { metadata }: StartingCall,
    { argsHash, ordinal, key }: CallIdentity,
    begin: () => Awaitable<OpenRecord>,
  ): Promise<OpenRecord> {
    const toolName = metadata.name
    const row = await this.journal.recordedCall(this.task, toolName, argsHash, ordinal)
    if (row === undefined) return begin()
    const whole = wholeOutput(row)
    if (whole !== undefined) {
      return { seq: this.#seq, key, task: this.task, recorded: whole, succeeded: () => undefined, failed: () => undefined }
    }
    // A call that may be repeated is made again.
    if (!metadata.sideEffect || metadata.idempotent) return begin()
    throw new ToolError({
      code: 'REPLAY_INCOMPLETE',
      summary: 'The recorded output is not complete',
      place: `The recorded output is not complete: ${toolName} (attempt ${row.attempt}, seq ${row.seq})`,
      hint: 'The call was made and must not be repeated. Look at what it changed, and go on from there.',
      details: { ...this.task, toolName, attempt: row.attempt, seq: row.seq },
    })
  }

  #begin(
    call: StartingCall,
    inputJson: string | undefined,
    identity: CallIdentity | undefined,
    giveBack: () => void,
  ): Awaitable<OpenRecord> {
    const { metadata, ctx } = call
    const seq = this.#nextSeq(call)
    const row = new CallRow(this.journal, {
      ...this.task,
      attempt: this.attempt,
      seq,
      toolName: metadata.name,
      inputJson,
      startedAtMs: steadyNow(),
      sideEffect: metadata.sideEffect,
      idempotent: metadata.idempotent,
      acceptsIdempotencyKey: declaresItsKey(metadata, call.builtIn),
      hasRevert: metadata.hasRevert,
      idempotencyKey: metadata.acceptsIdempotencyKey ? ctx.idempotencyKey : null,
      callToken: ctx.toolCallId,
      argsHash: identity?.argsHash,
      ordinal: identity?.ordinal,
    })
    const open = (): OpenRecord => this.#opened(call, row, seq, identity?.key ?? null, giveBack)
    const begun = row.begin()
    return isPromiseLike(begun) ? this.#whenBegun(begun, row, ctx.signal, open) : open()
  }

  /** The task does not end before it is known what became of a row that takes its time. */
  async #whenBegun(begun: PromiseLike<void>, row: CallRow, signal: AbortSignal | undefined, open: () => OpenRecord): Promise<OpenRecord> {
    this.#running += 1
    const settled = (): void => this.#settled()
    try {
      await unlessAborted(begun, signal)
    } catch (error) {
      // A call that was recorded as started gets its end too.
      const end = { status: 'error', acted: false, errorJson: errorAsJson(error) } as const
      begun.then(() => row.end(end)).then(settled, settled)
      throw error
    }
    const record = open()
    settled()
    return record
  }

  #opened(
    { metadata, builtIn, ctx, ambient }: StartingCall,
    row: CallRow,
    seq: number,
    key: string | null,
    giveBack: () => void,
  ): OpenRecord {
    this.#running += 1
    const end = (ending: ToolCallEnd): Awaitable<void> => andThen(row.end(ending), () => this.#settled())
    return {
      seq,
      key,
      task: this.task,
      keyRead: () => row.keyRead(),
      patched: async (patches, call) => {
        for (const patch of patches) {
          const [facts, ending] = patchRow(patch, call)
          const place = { ...this.task, attempt: this.attempt, seq: this.#takeSeq(ambient) }
          await new CallRow(this.journal, { ...place, ...facts }).end(ending)
        }
      },
      succeeded: (output, seen) => andThen(recordedOutput(output), (recorded) => end({ status: 'success', ...recorded, seen })),
      failed: (error, ending) => {
        const acted = ending.acted && !(builtIn && wasRefused(error))
        if (!acted) giveBack()
        const status = acted && metadata.sideEffect && wasAborted(error, ctx.signal) ? 'unknown' : 'error'
        return end({ status, acted, errorJson: errorAsJson(error, ending.output), seen: ending.seen })
      },
    }
  }

  #nextSeq({ ambient, ctx }: StartingCall): number {
    const seq = this.#takeSeq(ambient)
    ctx.seq = seq - 1
    return seq
  }

  #takeSeq(ambient: ToolContext | undefined): number {
    this.#seq += 1
    // The context counts too, for tools that look at it; a frozen one cannot.
    if (ambient !== undefined) Reflect.set(ambient, 'seq', this.#seq)
    return this.#seq
  }

  #settled(): void {
    this.#running -= 1
    if (this.#running > 0) return
    for (const resume of this.#waiting.splice(0)) resume()
  }

  /** Makes no more calls, and waits for those that run. */
  async end(): Promise<void> {
    this.#ended = true
    if (this.#running > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #taskEnded(toolName: string): ToolError {
    const { nodeId, runId, iteration } = this.task
    return new ToolError({
      code: 'TASK_ENDED',
      summary: 'The task of this call has ended',
      place: `The task of this call has ended: ${toolName} in \`${nodeId}\` of run \`${runId}\``,
      hint: 'Wait for every call before the function given to runTask returns.',
      details: { runId, nodeId, iteration, attempt: this.attempt, toolName },
    })
  }
}

function wasAborted(error: unknown, signal: AbortSignal | undefined): boolean {
  if (signal?.aborted === true && error === signal.reason) return true
  return error instanceof DOMException && error.name === 'AbortError'
}
