import type { CallIdentity, CallKeys } from '../../../index.js'
import { ToolError } from '../../core/errors.js'
import { nativeCallKeys } from '../../core/native.js'
import type { CallRecorder, OpenRecord, StartingCall } from '../record-call.js'
import { wasRefused } from '../refusals.js'
import { unlessAborted } from '../../core/abort.js'
import { rememberTrouble, warnOnce, whenTroubled } from '../../journal/journal-trouble.js'
import type { Journal } from '../../journal/journal.js'
import type { Awaitable, NewToolCall, TaskId, ToolCallEnd, ToolCallRef } from '../../journal/journal-store.js'
import { errorAsJson, type RecordedInput, recordedInput, recordedOutput, wholeOutput } from '../../core/recorded-json.js'
import { steadyNow } from '../../core/steady-time.js'

/** Records the calls of one attempt of a task in a journal. */
export class TaskRecorder implements CallRecorder {
  readonly journal: Journal
  readonly task: TaskId
  readonly attempt: number
  /** Asked before a call with a side effect is made; throws for one that must not be. */
  guard: ((toolName: string) => void) | undefined
  /** Whether identical finished calls give their recorded output. */
  givesRecorded = false
  #keys: CallKeys | undefined
  #preparing: Promise<void> | undefined
  #seq = 0
  #running = 0
  #waiting: (() => void)[] = []
  #ended = false

  readonly #isNew: boolean

  /** `isNew` says that the attempt cannot have rows yet. */
  constructor(journal: Journal, task: TaskId, attempt: number, isNew = false) {
    this.#isNew = isNew
    this.journal = journal
    this.task = task
    this.attempt = attempt
  }

  /** The number of the last call. */
  get seq(): number {
    return this.#seq
  }

  /** Gets ready, and goes on counting where this attempt has rows already. */
  async prepare(hasRows: boolean): Promise<void> {
    const { runId, nodeId, iteration } = this.task
    const keys = await nativeCallKeys(this.task)
    for (const row of hasRows ? await this.journal.listToolCalls(runId, nodeId, iteration, { outline: true }) : []) {
      if (row.attempt !== this.attempt) continue
      this.#seq = Math.max(this.#seq, row.seq)
      if (!row.acted) continue
      if (row.argsHash !== null && row.ordinal !== null) keys.occupy(row.toolName, row.argsHash, row.ordinal)
      else {
        // Long arguments are no part of the outline.
        const inputJson = row.inputJson ?? (await this.journal.rows([row.row]))[0]?.inputJson
        if (typeof inputJson === 'string') keys.take(row.toolName, inputJson)
      }
    }
    this.#keys = keys
  }

  /** Gets ready at the first call. */
  async #prepareLate(): Promise<void> {
    try {
      await this.prepare(!this.#isNew)
    } catch (error) {
      this.#preparing = undefined
      if (this.journal.onFailure === 'fail') throw error
      warnOnce(this.journal, error, 'calls may be made without a record')
      await this.prepare(false)
    }
  }

  /** Records that a call starts. */
  start(call: StartingCall): Awaitable<OpenRecord> {
    if (this.#keys !== undefined) return this.#start(call, this.#keys)
    this.#preparing ??= this.#prepareLate()
    return this.#preparing.then(() => this.#start(call, this.#keys as CallKeys))
  }

  #start(call: StartingCall, keys: CallKeys): Awaitable<OpenRecord> {
    const input = recordedInput(call.input)
    return isPromise(input) ? input.then((told) => this.#startWith(call, keys, told)) : this.#startWith(call, keys, input)
  }

  #startWith(call: StartingCall, keys: CallKeys, input: RecordedInput): Awaitable<OpenRecord> {
    const { metadata, builtIn } = call
    const { name } = metadata
    if (this.#ended) throw this.#taskEnded(name)
    // A built-in tool uses no key, and its row holds what the hash would be of.
    const identity = builtIn && !this.givesRecorded ? undefined : keys.take(name, input.identity)
    const { shown } = input
    const redact = shown !== undefined && !builtIn && this.journal.redactKeys
    const row = {
      ...this.task,
      attempt: this.attempt,
      toolName: name,
      inputJson: redact ? keys.withoutSecrets(shown) : shown,
      sideEffect: metadata.sideEffect,
      idempotent: metadata.idempotent,
      acceptsIdempotencyKey: metadata.acceptsIdempotencyKey,
      hasRevert: metadata.hasRevert,
      idempotencyKey: metadata.acceptsIdempotencyKey ? call.ctx.idempotencyKey : null,
      callToken: call.ctx.toolCallId,
      argsHash: identity?.argsHash,
      ordinal: identity?.ordinal,
    }
    const key = identity?.key ?? null
    const giveBack = (): void => {
      if (identity !== undefined) keys.giveBack(name, identity.argsHash, identity.ordinal)
    }
    const begin = (): Awaitable<OpenRecord> => {
      try {
        if (metadata.sideEffect) this.guard?.(name)
        const begun = this.#begin(call, { ...row, seq: this.#nextSeq(call), startedAtMs: steadyNow() }, key, giveBack)
        if (!isPromise(begun)) return begun
        return begun.then(undefined, (error: unknown) => {
          giveBack()
          throw error
        })
      } catch (error) {
        giveBack()
        throw error
      }
    }
    return this.givesRecorded && identity !== undefined ? this.#recordedOr(call, identity, begin) : begin()
  }

  /** The recorded output of an identical call, or else a call. */
  async #recordedOr(
    { metadata }: StartingCall,
    { argsHash, ordinal, key }: CallIdentity,
    begin: () => Awaitable<OpenRecord>,
  ): Promise<OpenRecord> {
    const toolName = metadata.name
    const found = await this.journal.recordedCall(this.task, toolName, argsHash, ordinal)
    if (found === undefined) return begin()
    const whole = wholeOutput(found)
    if (whole !== undefined) {
      return { seq: this.#seq, key, recorded: whole, succeeded: () => undefined, failed: () => undefined }
    }
    // What may be repeated is repeated.
    if (!metadata.sideEffect || metadata.idempotent) return begin()
    throw new ToolError({
      code: 'REPLAY_INCOMPLETE',
      summary: 'The recorded output is not complete',
      place: `The recorded output is not complete: ${toolName} (attempt ${found.attempt}, seq ${found.seq})`,
      hint: 'The call was made and must not be repeated. Look at what it changed, and go on from there.',
      details: { ...this.task, toolName, attempt: found.attempt, seq: found.seq },
    })
  }

  #begin(call: StartingCall, row: NewToolCall, key: string | null, giveBack: () => void): Awaitable<OpenRecord> {
    const open = (ref: ToolCallRef | undefined): OpenRecord => this.#opened(call, row, ref, key, giveBack)
    if (!call.metadata.sideEffect) {
      const trouble = whenTroubled(this.journal)
      return trouble === undefined ? open(undefined) : trouble.then(() => open(undefined))
    }
    const refused = (error: unknown): OpenRecord => {
      if (this.journal.onFailure === 'fail') throw error
      warnOnce(this.journal, error, `${row.toolName} (call ${row.seq}) is made without a record`)
      return open(undefined)
    }
    let inserted: Awaitable<ToolCallRef>
    try {
      inserted = this.journal.insertToolCall(row)
    } catch (error) {
      return refused(error)
    }
    if (!isPromise(inserted)) return open(inserted)
    return this.#whenInserted(inserted, call.ctx.signal, open, refused)
  }

  /** The task is not over before it is known what became of a row that takes its time. */
  async #whenInserted(
    inserting: PromiseLike<ToolCallRef>,
    signal: AbortSignal | undefined,
    open: (ref: ToolCallRef) => OpenRecord,
    refused: (error: unknown) => OpenRecord,
  ): Promise<OpenRecord> {
    this.#running += 1
    const settled = (): void => this.#settled()
    try {
      const record = open(await unlessAborted(inserting, signal))
      settled()
      return record
    } catch (error) {
      if (signal?.aborted === true) {
        // What was recorded as started gets its end too.
        const end = { status: 'error', acted: false, errorJson: errorAsJson(error) } as const
        inserting.then((ref) => this.journal.updateToolCall(ref, end)).then(settled, settled)
        throw error
      }
      settled()
      return refused(error)
    }
  }

  #opened(
    { metadata, builtIn, ctx }: StartingCall,
    row: NewToolCall,
    ref: ToolCallRef | undefined,
    key: string | null,
    giveBack: () => void,
  ): OpenRecord {
    this.#running += 1
    const end = (ending: ToolCallEnd): Awaitable<void> => {
      const settle = (): void => this.#settled()
      const failed = (error: unknown): void => {
        rememberTrouble(this.journal)
        warnOnce(this.journal, error, `recording the end of ${row.toolName} (call ${row.seq}) failed`)
        settle()
      }
      try {
        const written = ref === undefined ? this.journal.insertToolCall({ ...row, ...ending }) : this.journal.updateToolCall(ref, ending)
        if (isPromise(written)) return written.then(settle, failed)
        settle()
      } catch (error) {
        failed(error)
      }
    }
    return {
      seq: row.seq,
      key,
      succeeded: (output) => {
        const told = recordedOutput(output)
        const ended = (kept: Awaited<typeof told>): Awaitable<void> => end({ status: 'success', ...kept })
        return isPromise(told) ? told.then(ended) : ended(told)
      },
      failed: (error, ending) => {
        const acted = ending.acted && !(builtIn && wasRefused(error))
        if (!acted) giveBack()
        const status = acted && metadata.sideEffect && wasAborted(error, ctx.signal) ? 'unknown' : 'error'
        return end({ status, acted, errorJson: errorAsJson(error, ending.output) })
      },
    }
  }

  #nextSeq({ ambient, ctx }: StartingCall): number {
    this.#seq += 1
    ctx.seq = this.#seq - 1
    // The context counts too, for tools that look at it; a frozen one cannot.
    if (ambient !== undefined) Reflect.set(ambient, 'seq', this.#seq)
    return this.#seq
  }

  #settled(): void {
    this.#running -= 1
    if (this.#running > 0) return
    for (const go of this.#waiting.splice(0)) go()
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

function isPromise<T>(value: Awaitable<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value
}

function wasAborted(error: unknown, signal: AbortSignal | undefined): boolean {
  if (signal?.aborted === true && error === signal.reason) return true
  return error instanceof DOMException && error.name === 'AbortError'
}
