/** The agents of a journal as a tree: a run, its tasks or agents, and their subagents. */
import type { ReportCall } from '../report-data.js'
import { durationMs, taskName } from './words.js'

/** One attempt of one task, or one agent. */
export interface Agent {
  /** Of its run and its task. */
  key: string
  name: string
  runId: string
  nodeId: string
  /** How many agents are above it. */
  depth: number
  calls: ReportCall[]
  failed: number
  /** From the first start to the last end. */
  spanMs: number
  /** The time of its tools. */
  workMs: number
}

/** What distinguishes the lanes of a report. */
export const laneKey = (call: ReportCall): string => `${call.runId}\n${taskName(call)}`

/** The agents of these calls: parents before their children, and otherwise in the order of their first call. */
export function agentTree(calls: readonly ReportCall[]): Agent[] {
  const byKey = new Map<string, ReportCall[]>()
  for (const call of calls) {
    if (call.isTask) continue
    const own = byKey.get(laneKey(call))
    if (own === undefined) byKey.set(laneKey(call), [call])
    else own.push(call)
  }
  const agents = [...byKey].map(([key, own]) => makeAgent(key, own))
  const children = new Map<Agent | undefined, Agent[]>()
  for (const agent of agents) {
    const parent = parentOf(agent, agents)
    children.set(parent, [...(children.get(parent) ?? []), agent])
  }
  const ordered: Agent[] = []
  const visit = (parent: Agent | undefined, depth: number): void => {
    for (const agent of children.get(parent) ?? []) {
      agent.depth = depth
      ordered.push(agent)
      visit(agent, depth + 1)
    }
  }
  visit(undefined, 0)
  return ordered
}

function makeAgent(key: string, calls: ReportCall[]): Agent {
  const [first] = calls as [ReportCall]
  const named = calls.find(({ agent }) => agent !== null)?.agent
  const rest = taskName(first).slice(first.nodeId.length)
  const from = calls.reduce((least, { startedAtMs }) => Math.min(least, startedAtMs), first.startedAtMs)
  const to = calls.reduce((last, { startedAtMs, finishedAtMs }) => Math.max(last, finishedAtMs ?? startedAtMs), from)
  return {
    key,
    // The name of a subagent's node begins with that of its parent.
    name: `${named ?? first.nodeId.slice(first.nodeId.lastIndexOf('/') + 1)}${rest}`,
    runId: first.runId,
    nodeId: first.nodeId,
    depth: 0,
    calls,
    failed: calls.filter(({ ending }) => ending === 'error' || ending === 'refused' || ending === 'unknown').length,
    spanMs: to - from,
    workMs: calls.reduce((sum, call) => sum + (durationMs(call) ?? 0), 0),
  }
}

/** A subagent has a node below that of its parent, or a run of its own below its parent's. */
function parentOf(agent: Agent, agents: readonly Agent[]): Agent | undefined {
  let nearest: Agent | undefined
  for (const other of agents) {
    const isNode = other.runId === agent.runId && agent.nodeId.startsWith(`${other.nodeId}/`)
    const isRun = other.nodeId === agent.nodeId && agent.runId.startsWith(`${other.runId}/`)
    if (!isNode && !isRun) continue
    const isNearer = nearest === undefined || other.nodeId.length + other.runId.length > nearest.nodeId.length + nearest.runId.length
    // The latest attempt that had begun when this one did.
    const isLater = other.nodeId === nearest?.nodeId && other.runId === nearest.runId && startOf(other) <= startOf(agent)
    if (isNearer || isLater) nearest = other
  }
  return nearest
}

const startOf = ({ calls }: Agent): number => calls[0]?.startedAtMs ?? 0
