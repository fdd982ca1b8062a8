/** Which recorder a call belongs to, by its context or the tool set that makes it. */
import { uuidV7 } from '../../core/clock.js'
import type { Journal } from '../journal.js'
import type { CallRecorder, OpenRecord, RecordedRun, StartingCall } from './call-record.js'
import type { ToolCallRecord, ToolContext } from './context.js'
import { recordedChange } from './recorded-values.js'
import { TaskRecorder } from './task-recorder.js'

/** The node of calls that belong to no task. */
const NO_TASK = 'agent'

/** Our recorders, by the `recordToolCall` that puts them into a context. */
const registered = new WeakMap<object, CallRecorder>()
/** The recorders of named tasks, by journal and task: two contexts may name the same task. */
const byTask = new WeakMap<Journal, Map<string, WeakRef<TaskRecorder>>>()
/** The contexts and tool sets that keep the recorder of a named task alive. */
const users = new WeakMap<object, TaskRecorder>()
/** The recorders of runs without a name, by the tool set or context that is the run. */
const unnamed = new WeakMap<object, TaskRecorder>()

/**
 * What records a call in a journal: the recorder of `runTask`, or one for the journal of the context or of the tool set,
 * under the ids of the context where it has them. `undefined` without a journal, and where the host keeps its own
 * records, as the Smithers engine does: one call is recorded once.
 */
export function journalRecorder(ambient: ToolContext | undefined, run: RecordedRun): CallRecorder | undefined {
  if (ambient?.recordToolCall !== undefined) return registered.get(ambient.recordToolCall)
  const journal = ambient?.journal ?? run.journal
  if (journal === undefined) return undefined
  if (ambient?.runId && ambient.nodeId) return taskRecorder(journal, ambient, ambient)
  const owner = ambient?.journal === undefined ? run : ambient
  if (owner === run && run.runId !== undefined) {
    return taskRecorder(journal, { runId: run.runId, nodeId: run.nodeId ?? NO_TASK }, run)
  }
  const existing = unnamed.get(owner)
  if (existing?.journal === journal) return existing
  const nodeId = (owner === run ? run.nodeId : undefined) ?? NO_TASK
  const recorder = new TaskRecorder(journal, { runId: uuidV7(), nodeId, iteration: 0 }, 1, true)
  unnamed.set(owner, recorder)
  return recorder
}

/** The recorder of the task that a context names, which lives as long as its users. */
function taskRecorder(journal: Journal, context: ToolContext, user: object): TaskRecorder {
  const { runId = '', nodeId = '', iteration = 0 } = context
  // Attempts are counted from 1; a context that counts none is at its first.
  const attempt = context.attempt || 1
  const task = JSON.stringify([runId, nodeId, iteration, attempt])
  let recorders = byTask.get(journal)
  if (recorders === undefined) byTask.set(journal, (recorders = new Map()))
  let recorder = recorders.get(task)?.deref()
  if (recorder === undefined) {
    recorder = new TaskRecorder(journal, { runId, nodeId, iteration }, attempt)
    recorders.set(task, new WeakRef(recorder))
    collected.register(recorder, { recorders, task })
  }
  users.set(user, recorder)
  return recorder
}

const collected = new FinalizationRegistry(({ recorders, task }: { recorders: Map<string, WeakRef<TaskRecorder>>; task: string }) => {
  // The task may have a new recorder by now.
  if (recorders.get(task)?.deref() === undefined) recorders.delete(task)
})

/**
 * The `recordToolCall` of a context whose calls a journal records. Tools of this package use the recorder directly;
 * tools of another copy of it, and of the Smithers package, come here.
 */
export function recordToolCallIn(recorder: CallRecorder): (record: ToolCallRecord) => Promise<void> {
  const open: { start: ToolCallRecord; record: OpenRecord }[] = []
  const recordToolCall = async (part: ToolCallRecord): Promise<void> => {
    if (part.phase === 'started') {
      open.push({ start: part, record: await recorder.start(await asStarting(part)) })
      return
    }
    // The same arguments object identifies a call best: numbers can repeat in copies of a context.
    const same = open.findIndex(({ start }) => start.input === part.input && start.seq === part.seq)
    const index = same === -1 ? open.findIndex(({ start }) => start.seq === part.seq) : same
    const [call] = index === -1 ? [] : open.splice(index, 1)
    if (call === undefined) return
    if (part.phase === 'finished') await call.record.succeeded(part.output)
    else await call.record.failed(part.error, { acted: true, output: part.output })
  }
  registered.set(recordToolCall, recorder)
  return recordToolCall
}

async function asStarting(record: ToolCallRecord): Promise<StartingCall> {
  const { toolName: name, sideEffect, idempotent, acceptsIdempotencyKey, hasRevert } = record
  return {
    // What a tool of another package does with its key, only that package knows.
    metadata: { name, sideEffect, idempotent, acceptsIdempotencyKey, hasRevert, usesIdempotencyKey: acceptsIdempotencyKey },
    input: await withoutContents(name, record.input),
    builtIn: false,
    ctx: { idempotencyKey: record.idempotencyKey, toolCallId: record.toolCallId, signal: undefined, seq: 0 },
    ambient: undefined,
  }
}

/** Tools of these names in other packages hand over the contents as they are. */
async function withoutContents(name: string, input: unknown): Promise<unknown> {
  if (typeof input !== 'object' || input === null) return input
  const { content, patch, ...rest } = input as { path?: unknown; content?: unknown; patch?: unknown }
  if (name === 'write' && content !== undefined) return { ...rest, ...(await recordedChange(rest.path, 'content', content)) }
  if (name === 'apply_patch' && patch !== undefined) return { ...rest, ...(await recordedChange(undefined, 'patch', patch)) }
  if (name === 'edit' && patch !== undefined) return { ...rest, ...(await recordedChange(rest.path, 'patch', patch)) }
  return input
}
