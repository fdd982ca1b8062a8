/** The record of a long-running process: a row beside those of the calls. */
import type { KeptProcessEnd } from '../../../index.js'
import { steadyNow } from '../../core/clock.js'
import type { ProcessRecord, RecordProcess } from '../../core/processes/process-entry.js'
import { CallRow, type RecordedRun } from './call-record.js'
import type { ToolContext } from './context.js'
import { errorAsJson } from './recorded-values.js'
import { journalRecorder } from './recorders.js'
import { TaskRecorder } from './task-recorder.js'

/** The names of the rows. */
const ROW_NAME = 'process'

/** The numbers of the last rows, by recorder. */
const lastSeqs = new WeakMap<TaskRecorder, Promise<{ seq: number }>>()

/**
 * Records the processes of a tool set in the journal of its calls, at the node `NODE/processes`: a row at the start,
 * completed at the end. There is none without a journal, or if the host keeps its own records.
 */
export function processRecorder(ambient: ToolContext | undefined, run: RecordedRun): RecordProcess | undefined {
  const recorder = journalRecorder(ambient, run)
  return recorder instanceof TaskRecorder ? (id, command) => recordProcess(recorder, id, command) : undefined
}

async function recordProcess(recorder: TaskRecorder, processId: string, command: string): Promise<ProcessRecord> {
  const { journal, attempt, task } = recorder
  const place = { ...task, nodeId: `${task.nodeId}/processes` }
  let last = lastSeqs.get(recorder)
  if (last === undefined) {
    last = (async () => ({ seq: (await journal.lastAttempt(place))?.seq ?? 0 }))()
    lastSeqs.set(recorder, last)
    last.catch(() => lastSeqs.delete(recorder))
  }
  const numbers = await last
  numbers.seq += 1
  const inputJson = JSON.stringify({ process_id: processId, command })
  const row = { ...place, attempt, seq: numbers.seq, toolName: ROW_NAME, inputJson, startedAtMs: steadyNow(), sideEffect: true }
  const recorded = new CallRow(journal, row)
  await recorded.begin()
  return {
    failed: async (error) => recorded.end({ status: 'error', acted: false, errorJson: errorAsJson(error) }),
    ended: async (end) => recorded.end({ status: 'success', outputJson: JSON.stringify(recordedEnd(end)) }),
    detached: async (id) => recorded.end({ status: 'success', outputJson: JSON.stringify({ detached_as: id }) }),
    told: async () => undefined,
  }
}

/** How a process ended, for its row. */
export function recordedEnd({ exitCode, signal, leftRunning, userMs, systemMs, peakBytes, durationMs }: KeptProcessEnd) {
  return {
    exit_code: exitCode ?? null,
    signal: signal ?? null,
    left_running: leftRunning,
    cpu_ms: Math.round(userMs + systemMs),
    peak_bytes: peakBytes,
    duration_ms: Math.round(durationMs),
  }
}
