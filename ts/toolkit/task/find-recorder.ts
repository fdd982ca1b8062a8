import type { ToolContext } from '../context.js'
import type { CallRecorder } from '../record-call.js'
import type { BoundToolOptions } from '../settings.js'
import type { Journal } from '../../journal/journal.js'
import { TaskRecorder } from './task-recorder.js'
import { uuidV7 } from '../../core/uuid-v7.js'

/** The node of calls that belong to no task. */
const NO_TASK = 'agent'

/** The recorders of our own, by the `recordToolCall` that they put into a context. */
const ours = new WeakMap<object, CallRecorder>()
/** Of contexts that name their task, by journal and task: two such contexts may name the same. */
const named = new WeakMap<Journal, Map<string, WeakRef<TaskRecorder>>>()
/** A recorder lives as long as a context, or a set of tools, that uses it. */
const users = new WeakMap<object, TaskRecorder>()
/** Of calls outside of any task, by what makes them a run: a set of tools, or a context. */
const unnamed = new WeakMap<object, TaskRecorder>()

/** Makes `record`, as part of a context, stand for a recorder. */
export function registerRecorder(record: NonNullable<ToolContext['recordToolCall']>, recorder: CallRecorder): void {
  ours.set(record, recorder)
}

/** The recorder of ours that a context stands for. */
export function registeredRecorder(context: ToolContext | undefined): CallRecorder | undefined {
  return context?.recordToolCall === undefined ? undefined : ours.get(context.recordToolCall)
}

/**
 * What records a call in a journal: the recorder of `runTask`, or one for the journal of the context
 * or of the set of tools; under the ids of the context, where it has them. `undefined` where there is no journal, and where the host keeps records
 * itself, as the Smithers engine does: one call is recorded once.
 */
export function journalRecorder(ambient: ToolContext | undefined, bound: BoundToolOptions): CallRecorder | undefined {
  if (ambient?.recordToolCall !== undefined) return registeredRecorder(ambient)
  const journal = ambient?.journal ?? bound.journal
  if (journal === undefined) return undefined
  if (ambient?.runId && ambient.nodeId) return namedRecorder(journal, ambient, ambient)
  const run = ambient?.journal === undefined ? bound : ambient
  if (run === bound && bound.runId !== undefined) {
    return namedRecorder(journal, { runId: bound.runId, nodeId: bound.nodeId ?? NO_TASK }, bound)
  }
  let recorder = unnamed.get(run)
  if (recorder?.journal !== journal) {
    recorder = new TaskRecorder(
      journal,
      { runId: uuidV7(), nodeId: (run === bound ? bound.nodeId : undefined) ?? NO_TASK, iteration: 0 },
      1,
      true,
    )
    unnamed.set(run, recorder)
  }
  return recorder
}

/** The recorder of the task that a context names, which lives as long as its user. */
function namedRecorder(journal: Journal, context: ToolContext, user: object): TaskRecorder {
  const { runId = '', nodeId = '', iteration = 0 } = context
  // Attempts are counted from 1; a context that counts none is at its first.
  const attempt = context.attempt || 1
  const name = JSON.stringify([runId, nodeId, iteration, attempt])
  let recorders = named.get(journal)
  if (recorders === undefined) named.set(journal, (recorders = new Map()))
  let recorder = recorders.get(name)?.deref()
  if (recorder === undefined) {
    recorder = new TaskRecorder(journal, { runId, nodeId, iteration }, attempt)
    forgetCollected(recorders)
    recorders.set(name, new WeakRef(recorder))
  }
  users.set(user, recorder)
  return recorder
}

/** How many may be collected before somebody looks for them. */
const SOME = 1000

function forgetCollected(recorders: Map<string, WeakRef<TaskRecorder>>): void {
  if (recorders.size === 0 || recorders.size % SOME !== 0) return
  for (const [name, recorder] of recorders) if (recorder.deref() === undefined) recorders.delete(name)
}
