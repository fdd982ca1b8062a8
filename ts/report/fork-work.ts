/** What rows of a journal say of forks: who worked in one, what it changed, and what became of that. */
import { parseObject } from '../core/parse-rows.js'
import type { ToolCallRow } from '../journal/journal-store.js'
import type { ForkWork } from './report-data.js'

type Fields = Record<string, unknown>

/** The most paths of one fork that a page gets. */
const MAX_PATHS = 200
const KINDS: ReadonlySet<unknown> = new Set(['created', 'modified', 'deleted'])

/** What a call says of a fork; `null` for most. */
export function forkWorkOf(row: ToolCallRow): ForkWork | null {
  if (row.status !== 'success') return null
  return row.toolName === 'task' ? ofTask(row) : ofFork(row)
}

/** The result of a subagent of `isolation: 'fork'`. */
function ofTask({ inputJson, outputJson }: ToolCallRow): ForkWork | null {
  if (outputJson === null || !outputJson.includes('"fork"')) return null
  const { id, changes, more_changes: more } = fieldsOf(fieldsOf(parseObject(outputJson)?.['data'])['fork'])
  if (typeof id !== 'string') return null
  const { subagent_type: agent } = parseObject(inputJson) ?? {}
  return work(id, 'changed', changes, { agent, more })
}

function ofFork({ toolName, inputJson, outputJson }: ToolCallRow): ForkWork | null {
  const { fork: id } = parseObject(inputJson) ?? {}
  if (typeof id !== 'string') return null
  if (toolName === 'fork_open') return work(id, 'opened', [])
  if (toolName === 'fork_discard') return work(id, 'discarded', [])
  if (toolName !== 'fork_apply' && toolName !== 'fork_undo') return null
  const { applied, undone, conflicts } = parseObject(outputJson) ?? {}
  if (Array.isArray(conflicts) && conflicts.length > 0) return work(id, 'conflict', conflicts)
  return toolName === 'fork_apply' ? work(id, 'applied', applied) : work(id, 'undone', undone)
}

function work(id: string, what: ForkWork['what'], changes: unknown, { agent, more }: { agent?: unknown; more?: unknown } = {}): ForkWork {
  const all = (Array.isArray(changes) ? (changes as unknown[]) : []).flatMap((one) => {
    const { path, kind, type } = fieldsOf(one)
    if (typeof path !== 'string' || !KINDS.has(kind) || type === 'directory') return []
    return [{ path, kind: kind as ForkWork['changes'][number]['kind'] }]
  })
  const shown = all.slice(0, MAX_PATHS)
  return {
    id: id.slice(0, 200),
    what,
    agent: typeof agent === 'string' ? agent.slice(0, 200) : null,
    changes: shown,
    more: all.length - shown.length + (typeof more === 'number' && more > 0 ? Math.floor(more) : 0),
  }
}

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})
