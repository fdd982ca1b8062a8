import { abortSignal, type Checks, optional, parseOptions, text } from '../../core/options.js'
import { toolSet } from './task.js'
import { nativeArgsHash } from '../../core/native.js'
import { type DefinedToolMetadata, getDefinedToolMetadata } from '../define-tool.js'
import { warnOnce } from '../../journal/calls/call-record.js'
import type { Journal } from '../../journal/journal.js'
import type { ToolCallRow } from '../../journal/journal-store.js'
import { checkJournal } from '../../journal/checks.js'
import { errorAsJson, wholeOutput } from '../../journal/calls/recorded-values.js'

/** Options of {@link revertRun}. */
export interface RevertRunOptions {
  /** The tools that made the calls, with their `revert` handlers, by name. */
  tools: Readonly<Record<string, unknown>>
  /** Only the calls of this task. @default all of the run */
  nodeId?: string | undefined
  /** Stops before the next handler, and throws the signal's reason. */
  signal?: AbortSignal | undefined
}

/** The options are checked because a misspelt `nodeId` would undo the whole run. */
const revertChecks = { tools: toolSet, nodeId: optional(text), signal: abortSignal } satisfies Checks<RevertRunOptions>

/** The outcome of one call. */
export interface RevertedCall {
  call: ToolCallRow
  /**
   * `failed`: the handler threw. `skipped`: the handler was not called. `irreversible`: the call had, or may have had, an
   * effect, and its tool has no handler.
   */
  outcome: 'reverted' | 'failed' | 'skipped' | 'irreversible'
  /** The error of the handler. */
  error?: unknown
  /** Why the call was skipped, or cannot be undone. */
  reason?: string
}

/**
 * Undoes the calls of a run by the `revert` handlers of their tools, the last call first. `write`, `edit`, `apply_patch` and `bash`
 * have none, because a journal holds no contents of files: their calls are `irreversible`. Each call is undone at most once,
 * even by several programs: a handler that failed or was interrupted is not called again. The row has the outcome
 * (`revertStatus`, `revertErrorJson`). A failed handler does not stop the others.
 *
 * @example
 * ```ts
 * const undone = await revertRun(journal, 'run-7', { tools: { placeOrder } })
 * for (const { call, outcome, reason } of undone) console.log(call.toolName, outcome, reason)
 * ```
 * @returns every call whose tool had a handler, or that had an effect without one, in the order of undoing.
 * @throws {ToolError} INVALID_INPUT for an invalid option; JOURNAL_… if the journal fails before a handler is called.
 */
export async function revertRun(journal: Journal, runId: string, options: RevertRunOptions): Promise<RevertedCall[]> {
  const { tools, nodeId, signal } = parseOptions('revertRun', options, revertChecks)
  parseOptions('revertRun', { journal, runId }, { journal: checkJournal, runId: text })
  const known = new Map<string, DefinedToolMetadata>()
  for (const tool of Object.values(tools)) {
    const metadata = getDefinedToolMetadata(tool)
    if (metadata?.revert !== undefined) known.set(metadata.name, metadata)
  }
  // A call of a dead process without an outcome may have happened, and can be undone.
  await journal.recover()
  // In the order of rows, which are written before the calls: two calls may begin at the same time, and a clock may be
  // set back between them.
  const calls = (await journal.listRun(runId, { outline: true })).sort((a, b) => b.row - a.row)
  const done: RevertedCall[] = []
  for (const call of calls) {
    signal?.throwIfAborted()
    if (nodeId !== undefined && call.nodeId !== nodeId) continue
    if (call.hasRevert !== true) {
      if (hasEffect(call)) done.push({ call, outcome: 'irreversible', reason: whyNot(call) })
      continue
    }
    const [whole = call] = await journal.rows([call.row])
    done.push(await revertCall(journal, whole, known.get(call.toolName)?.revert))
  }
  return done
}

/** Whether a call has changed, or may have changed, something. A refused call has not. */
const hasEffect = ({ kind, sideEffect, acted }: ToolCallRow): boolean => kind !== 'task' && sideEffect === true && acted

/** Tools that change files, whose earlier contents no journal has. */
const fileTools: ReadonlySet<string> = new Set(['write', 'edit', 'apply_patch'])

function whyNot({ toolName }: ToolCallRow): string {
  if (fileTools.has(toolName))
    return 'the journal holds no contents of files: take them from version control, or from the undo() of applyPatch'
  if (toolName === 'bash') return 'what a command has changed is not known: take the files from version control'
  return `${toolName} has no revert handler`
}

type Revert = NonNullable<DefinedToolMetadata['revert']>

async function revertCall(journal: Journal, call: ToolCallRow, revert: Revert | undefined): Promise<RevertedCall> {
  const skipped = (reason: string): RevertedCall => ({ call, outcome: 'skipped', reason })
  if (revert === undefined) return skipped(`no tool named ${call.toolName} with a revert handler was given`)
  const args = await wholeInput(call)
  if (args === undefined) return skipped('its arguments were not kept as they were')
  const claim = await journal.claimRevert(call.row)
  if ('taken' in claim) return skipped(`it is ${claim.taken}`)
  if ('nothing' in claim) return skipped(claim.nothing)
  try {
    await revert(args.input, {
      output: (claim.won.status === 'success' ? wholeOutput(claim.won)?.output : undefined) ?? null,
      effectStatus: claim.won.status === 'success' ? 'succeeded' : 'unknown',
      idempotencyKey: call.idempotencyKey,
      runId: call.runId,
      nodeId: call.nodeId,
      iteration: call.iteration,
      attempt: call.attempt,
      toolCallSeq: call.seq,
    })
  } catch (error) {
    await recordEnd(journal, call, errorAsJson(error))
    return { call, outcome: 'failed', error }
  }
  await recordEnd(journal, call)
  return { call, outcome: 'reverted' }
}

/** Records the outcome. A failure of the journal is only a warning, because the call has been undone. */
async function recordEnd(journal: Journal, call: ToolCallRow, errorJson?: string): Promise<void> {
  try {
    await journal.finishRevert(call.row, errorJson)
  } catch (error) {
    warnOnce(journal, error, `recording the revert of ${call.toolName} (call ${call.seq}) failed`)
  }
}

/** The arguments, unless some were replaced (`redactKeys`). */
async function wholeInput({ inputJson, argsHash }: ToolCallRow): Promise<{ input: unknown } | undefined> {
  if (inputJson === null) return { input: undefined }
  if (argsHash !== null && (await nativeArgsHash(inputJson)) !== argsHash) return undefined
  try {
    return { input: JSON.parse(inputJson) as unknown }
  } catch {
    return undefined
  }
}
