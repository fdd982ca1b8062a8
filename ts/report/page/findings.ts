/** What a reviewer asks first: what changed, what was refused, how each attempt ended, and where the time went. */
import { formatDuration } from '../format.js'
import type { FileChange, Refusal, ReportCall } from '../report-data.js'
import { durationMs, endings, taskName } from './words.js'

/** A file with everything that calls have changed of it. */
export interface ChangedFile {
  path: string
  kind: FileChange['kind']
  /** `null` if it is not known of one of its changes. */
  added: number | null
  removed: number | null
}

export interface Refused {
  layer: Refusal['layer']
  subject: string
  calls: number
}

/** One of several attempts of a task. */
export interface Attempt {
  name: string
  calls: number
  spanMs: number
  /** How it ended, as far as its calls tell. */
  ended: string
  /** The call that it ended with. */
  last: ReportCall
}

/** The files that calls have changed, those with the most changed lines first. */
export function changedFiles(calls: readonly ReportCall[]): ChangedFile[] {
  const files = new Map<string, ChangedFile>()
  for (const { changes } of calls) {
    for (const { path, kind, added, removed } of changes) {
      const file = files.get(path)
      if (file === undefined) files.set(path, { path, kind, added, removed })
      else {
        file.added = sum(file.added, added)
        file.removed = sum(file.removed, removed)
        if (file.kind !== 'created' || kind === 'deleted') file.kind = kind
      }
    }
  }
  const lines = ({ added, removed }: ChangedFile): number => (added ?? 0) + (removed ?? 0)
  return [...files.values()].sort((one, other) => lines(other) - lines(one) || (one.path < other.path ? -1 : 1))
}

const sum = (one: number | null, other: number | null): number | null => (one === null || other === null ? null : one + other)

/** What was refused, the most frequent first. */
export function refusals(calls: readonly ReportCall[]): Refused[] {
  const all = new Map<string, Refused>()
  for (const call of calls) {
    for (const { layer, subject } of call.refusals) {
      const known = all.get(`${layer}\n${subject}`)
      if (known === undefined) all.set(`${layer}\n${subject}`, { layer, subject, calls: 1 })
      else known.calls += 1
    }
  }
  return [...all.values()].sort((one, other) => other.calls - one.calls)
}

/** The attempts of tasks that have several. */
export function attempts(calls: readonly ReportCall[]): Attempt[] {
  const tasks = new Map<string, Map<number, ReportCall[]>>()
  for (const call of calls) {
    const key = `${call.runId}\n${call.nodeId}\n${call.iteration}`
    const own = tasks.get(key) ?? new Map<number, ReportCall[]>()
    tasks.set(key, own.set(call.attempt, [...(own.get(call.attempt) ?? []), call]))
  }
  return [...tasks.values()].filter(({ size }) => size > 1).flatMap((own) => [...own.values()].map(attemptOf))
}

function attemptOf(calls: ReportCall[]): Attempt {
  const made = calls.filter(({ isTask }) => !isTask)
  const whole = calls.find(({ isTask }) => isTask)
  const last = (whole?.reason ? whole : made.at(-1)) ?? (calls[0] as ReportCall)
  const from = Math.min(...calls.map(({ startedAtMs }) => startedAtMs))
  const to = Math.max(...calls.map(({ startedAtMs, finishedAtMs }) => finishedAtMs ?? startedAtMs))
  const name = `${taskName({ ...last, attempt: 1 })}, attempt ${last.attempt}`
  return { name, calls: made.length, spanMs: to - from, ended: endOf(last), last }
}

/** A journal has no row for the end of an attempt, so its last call has to tell. */
function endOf(last: ReportCall): string {
  const how = last.exit === '' ? endings[last.ending].label.toLowerCase() : last.exit
  const what = last.isTask ? 'the task' : [last.tool, last.target].filter(Boolean).join(' ')
  return `its last call: ${what} (${how})${last.reason === '' ? '' : ` — ${last.reason}`}`
}

/** Time in which at least one tool was at work, of the whole time. */
export function timeOfTools(calls: readonly ReportCall[]): { workMs: number; wholeMs: number } {
  const spans = calls
    .filter(({ isTask }) => !isTask)
    .map((call) => ({ start: call.startedAtMs, end: call.startedAtMs + (durationMs(call) ?? 0) }))
    .sort((one, other) => one.start - other.start)
  let [workMs, until] = [0, Number.NEGATIVE_INFINITY]
  for (const { start, end } of spans) {
    workMs += Math.max(0, end - Math.max(start, until))
    until = Math.max(until, end)
  }
  return { workMs, wholeMs: spans.length === 0 ? 0 : until - (spans[0] as { start: number }).start }
}

/** The facts of the first line. */
export function facts(calls: readonly ReportCall[]): string[] {
  const files = changedFiles(calls)
  const refused = refusals(calls)
  const tried = attempts(calls).length
  const { workMs, wholeMs } = timeOfTools(calls)
  const added = files.reduce<number | null>((all, file) => sum(all, file.added), 0)
  const removed = files.reduce<number | null>((all, file) => sum(all, file.removed), 0)
  const lines = added === null || removed === null || files.length === 0 ? '' : ` (+${added.toLocaleString()} −${removed.toLocaleString()})`
  const hosts = refused.filter(({ layer }) => layer === 'network').length
  const paths = refused.filter(({ layer }) => layer === 'files').length
  return [
    ...(tried === 0 ? [] : [`${tried} attempts`]),
    `${counted(files.length, 'file')} changed${lines}`,
    ...(hosts === 0 ? [] : [`${counted(hosts, 'host')} refused`]),
    ...(paths === 0 ? [] : [`${counted(paths, 'path')} refused`]),
    `${formatDuration(workMs)} of tools of ${formatDuration(wholeMs)}`,
  ]
}

const counted = (amount: number, noun: string): string =>
  `${amount === 0 ? 'no' : amount.toLocaleString()} ${noun}${amount === 1 ? '' : 's'}`
