import type { CallKeys } from '../../index.js'
import type { DefinedToolContext } from '../call-context.js'
import type { ToolContext } from '../context.js'
import { ToolError } from '../errors.js'
import { nativeCallKeys } from '../native.js'
import type { OpenRecord } from '../record-call.js'
import { wasRefused } from '../refusals.js'
import type { DefinedToolMetadata } from '../tool-metadata.js'
import { unlessAborted } from '../unless-aborted.js'
import { rememberTrouble, warnOnce, whenTroubled } from './journal-trouble.js'
import type { Journal } from './journal.js'
import type { Awaitable, NewToolCall, TaskId, ToolCallEnd, ToolCallRef } from './journal-store.js'
import { asJson, errorAsJson, outputAsJson, wholeOutput } from './recorded-json.js'

/** A call that starts. */
export interface StartingCall {
  metadata: Omit<DefinedToolMetadata, 'revert'>
  /** What the record shows of the arguments. */
  input: unknown
  /** Whether it is one of our own tools, whose errors say whether anything was done. */
  builtIn: boolean
  ctx: Pick<DefinedToolContext, 'idempotencyKey' | 'toolCallId' | 'signal' | 'seq'>
  ambient: ToolContext | undefined
}

/** Records the calls of one attempt of a task in a journal. */
export class TaskRecorder {
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

  constructor(journal: Journal, task: TaskId, attempt: number) {
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
    for (const row of hasRows ? await this.journal.listToolCalls(runId, nodeId, iteration) : []) {
      if (row.attempt !== this.attempt) continue
      this.#seq = Math.max(this.#seq, row.seq)
      if (!row.acted) continue
      if (row.argsHash !== null && row.ordinal !== null) keys.occupy(row.toolName, row.argsHash, row.ordinal)
      else if (row.inputJson !== null) keys.take(row.toolName, row.inputJson)
    }
    this.#keys = keys
  }

  /** Records that a call starts. */
  start(call: StartingCall): Awaitable<OpenRecord> {
    if (this.#keys !== undefined) return this.#start(call, this.#keys)
    this.#preparing ??= this.prepare(true)
    return this.#preparing.then(() => this.#start(call, this.#keys as CallKeys))
  }

  #start(call: StartingCall, keys: CallKeys): Awaitable<OpenRecord> {
    const { metadata, builtIn } = call
    const { name } = metadata
    if (this.#ended) throw this.#taskEnded(name)
    const json = asJson(call.input)
    const identity = keys.take(name, json ?? 'null')
    const redact = json !== undefined && !builtIn && this.journal.redactKeys
    const row = {
      ...this.task,
      attempt: this.attempt,
      toolName: name,
      inputJson: redact ? keys.withoutSecrets(json) : json,
      sideEffect: metadata.sideEffect,
      idempotent: metadata.idempotent,
      acceptsIdempotencyKey: metadata.acceptsIdempotencyKey,
      hasRevert: metadata.hasRevert,
      idempotencyKey: metadata.acceptsIdempotencyKey ? call.ctx.idempotencyKey : null,
      callToken: call.ctx.toolCallId,
      argsHash: identity.argsHash,
      ordinal: identity.ordinal,
    }
    const giveBack = (): void => keys.giveBack(name, identity.argsHash, identity.ordinal)
    const begin = (): Awaitable<OpenRecord> => {
      try {
        if (metadata.sideEffect) this.guard?.(name)
        const begun = this.#begin(call, { ...row, seq: this.#nextSeq(call), startedAtMs: Date.now() }, identity.key, giveBack)
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
    return this.givesRecorded ? this.#recordedOr(call, row, identity.key, begin) : begin()
  }

  /** The recorded output of an identical call, or else a call. */
  async #recordedOr(
    { metadata }: StartingCall,
    { toolName, argsHash, ordinal }: { toolName: string; argsHash: string; ordinal: number },
    key: string,
    begin: () => Awaitable<OpenRecord>,
  ): Promise<OpenRecord> {
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

  #begin(call: StartingCall, row: NewToolCall, key: string, giveBack: () => void): Awaitable<OpenRecord> {
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
    const inserting = inserted
    return unlessAborted(inserting, call.ctx.signal).then(open, (error: unknown) => {
      if (call.ctx.signal?.aborted !== true) return refused(error)
      // What was recorded as started gets its end too.
      const end = { status: 'error', acted: false, errorJson: errorAsJson(error) } as const
      inserting.then((ref) => this.journal.updateToolCall(ref, end)).then(undefined, () => undefined)
      throw error
    })
  }

  #opened(
    { metadata, builtIn, ctx }: StartingCall,
    row: NewToolCall,
    ref: ToolCallRef | undefined,
    key: string,
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
      succeeded: (output) => end({ status: 'success', outputJson: outputAsJson(output) }),
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
