/** The layout of the timeline: a lane for each agent, with further rows for calls that overlap. */
import { type Agent, agentTree } from './agents.js'
import type { ReportCall } from '../report-data.js'

/** A call in a lane. */
export interface Bar {
  call: ReportCall
  start: number
  end: number
  /** The row within the lane, from 0. */
  level: number
}

/** The calls of one agent, or of one attempt of a task. */
export interface Lane {
  agent: Agent
  bars: Bar[]
  levels: number
  /** The times between calls, in which the model or a person worked. */
  gaps: { start: number; end: number }[]
}

/** The lanes of these calls, in the order of their agents. A running call lasts until `now`. */
export const makeLanes = (calls: readonly ReportCall[], now: number): Lane[] => agentTree(calls).map((agent) => makeLane(agent, now))

function makeLane(agent: Agent, now: number): Lane {
  const sorted = [...agent.calls].sort((one, other) => one.startedAtMs - other.startedAtMs || one.row - other.row)
  const lane: Lane = { agent, bars: [], levels: 1, gaps: [] }
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
