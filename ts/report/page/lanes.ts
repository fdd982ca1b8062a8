/** The layout of the timeline: a lane for each task, with further rows for calls that overlap. */
import { taskName } from './words.js'
import type { ReportCall } from '../report-data.js'

/** A call in a lane. */
export interface Bar {
  call: ReportCall
  start: number
  end: number
  /** The row within the lane, from 0. */
  level: number
}

/** The calls of one attempt of a task. */
export interface Lane {
  name: string
  runId: string
  bars: Bar[]
  levels: number
  /** The times between calls, in which the model or a person worked. */
  gaps: { start: number; end: number }[]
}

/** The lanes of these calls, in the order of their first call. A running call lasts until `now`. */
export function makeLanes(calls: readonly ReportCall[], now: number): Lane[] {
  const byTask = new Map<string, ReportCall[]>()
  for (const call of calls) {
    if (call.isTask) continue
    const key = `${call.runId}\n${taskName(call)}`
    const lane = byTask.get(key)
    if (lane === undefined) byTask.set(key, [call])
    else lane.push(call)
  }
  return [...byTask.values()].map((members) => makeLane(members, now))
}

function makeLane(members: ReportCall[], now: number): Lane {
  const [first] = members as [ReportCall]
  const sorted = [...members].sort((one, other) => one.startedAtMs - other.startedAtMs || one.row - other.row)
  const lane: Lane = { name: taskName(first), runId: first.runId, bars: [], levels: 1, gaps: [] }
  const ends: number[] = []
  let last = Number.NaN
  for (const call of sorted) {
    const start = call.startedAtMs
    const end = Math.max(start, call.finishedAtMs ?? (call.ending === 'started' ? now : start))
    if (start > last) lane.gaps.push({ start: last, end: start })
    const free = ends.findIndex((taken) => taken <= start)
    const level = free === -1 ? ends.length : free
    ends[level] = end
    lane.bars.push({ call, start, end, level })
    last = Number.isNaN(last) ? end : Math.max(last, end)
  }
  lane.levels = ends.length
  return lane
}
