import type { ToolCallRow } from '../../journal/journal-store.js'
import type { ContractTool } from '../registry/contract-tool.js'
import type { KeptEnvelope } from './recorded-envelope.js'

/** A recorded call, as far as it says which tools were offered. */
type RecordedCall = KeptEnvelope & { row: Pick<ToolCallRow, 'attempt' | 'toolName'> }

/**
 * The tools that a recorded session offered only after a search had found them: a call that came before has left
 * no row, since the AI SDK refuses what it was not offered. One that was called without being found was offered
 * from the start.
 */
export function toolsFoundLater(tools: readonly ContractTool[], calls: readonly RecordedCall[]): Set<string> {
  const later = new Set<string>()
  for (const { id, extension } of tools) {
    if (extension !== true) continue
    const searches = calls.filter((call) => foundBy(call).includes(id))
    const wasOpen = calls.some((call) => call.row.toolName === id && isAnswered(call) && !searches.some((search) => isBefore(search, call)))
    if (!wasOpen) later.add(id)
  }
  return later
}

/** The ids that a call of `tool_search` found; of any other call none. */
export function foundBy({ row, envelope }: RecordedCall): string[] {
  if (row.toolName !== 'tool_search' || envelope?.type !== 'output') return []
  const { matches } = (envelope.data ?? {}) as { matches?: unknown }
  return Array.isArray(matches)
    ? matches.map((match: unknown) => (match as { id?: unknown } | null)?.id).filter((id) => typeof id === 'string')
    : []
}

/** Whether it was more than a call of a tool that was not to be called. */
const isAnswered = ({ envelope }: RecordedCall): boolean => envelope?.metadata.code !== 'unknown_tool'

/** Whether one call had ended when another began. */
function isBefore(one: RecordedCall, other: RecordedCall): boolean {
  if (one.row.attempt !== other.row.attempt) return one.row.attempt < other.row.attempt
  return one.order !== undefined && other.order !== undefined && one.order[1] <= other.order[0]
}
