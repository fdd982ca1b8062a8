/** What a reviewer asks of a call first: which files it changed, and what it was refused. */
import { type ContractCode, contractCodeOf, contractCodes, type ToolErrorCode } from '../core/codes.js'
import { parseObject } from '../core/parse-rows.js'
import type { CheckpointDiff } from '../journal/checkpoints/checkpoints.js'
import type { ToolCallRow } from '../journal/journal-store.js'
import type { FileChange, Refusal } from './report-data.js'
import { shownTarget } from './shown-target.js'

type Fields = Record<string, unknown>

/** The most files and refusals of one call that a page gets. */
const MAX_LISTED = 200
/** Tools whose success is a change of the file that their arguments name. */
const FILE_TOOLS: ReadonlySet<string> = new Set(['write', 'edit'])
const KINDS: Readonly<Record<string, FileChange['kind']>> = { add: 'created', created: 'created', delete: 'deleted', deleted: 'deleted' }

/** Who refused a call with this code; `undefined` for a code that is no refusal. */
function refuser(code: string, details: Fields): Refusal['layer'] | undefined {
  const own = Object.hasOwn(contractCodeOf, code) ? contractCodeOf[code as ToolErrorCode] : code
  if (!Object.hasOwn(contractCodes, own) || contractCodes[own as ContractCode] !== 'refused') return undefined
  if (/NETWORK|GIT_REMOTE/u.test(code) || typeof details['host'] === 'string') return 'network'
  return code.includes('_PATH_') ? 'files' : 'permission'
}

/** The files that a call has changed: by its checkpoints if there are some, and otherwise by what its row says. */
export function changesOf(row: ToolCallRow, diff?: CheckpointDiff): FileChange[] {
  const changes = diff === undefined ? recordedChanges(row) : countedChanges(diff)
  return changes.slice(0, MAX_LISTED)
}

function countedChanges({ changes, text, isCut }: CheckpointDiff): FileChange[] {
  const lines = changedLines(text)
  return changes
    .filter(({ type }) => type !== 'directory')
    .map(({ path, kind }) => {
      const { added = null, removed = null } = lines.get(path) ?? {}
      return { path, kind, added: isCut ? null : added, removed: isCut ? null : removed }
    })
}

/** The added and removed lines of each file of a unified diff. */
export function changedLines(diff: string): Map<string, { added: number; removed: number }> {
  const files = new Map<string, { added: number; removed: number }>()
  let current: { added: number; removed: number } | undefined
  // Lines of a hunk can look like headers, so the header of a hunk says how many belong to it.
  let [oldLines, newLines] = [0, 0]
  for (const line of diff.split('\n')) {
    if (oldLines > 0 || newLines > 0) {
      if (line.startsWith('+')) newLines -= 1
      else if (line.startsWith('-')) oldLines -= 1
      else if (!line.startsWith('\\')) [oldLines, newLines] = [oldLines - 1, newLines - 1]
      if (current !== undefined && line.startsWith('+')) current.added += 1
      if (current !== undefined && line.startsWith('-')) current.removed += 1
      continue
    }
    const [, name] = /^diff a\/(.*) b\/\1$/u.exec(line) ?? []
    const [, old = '1', now = '1'] = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/u.exec(line) ?? []
    if (name !== undefined) files.set(name, (current = { added: 0, removed: 0 }))
    else if (line.startsWith('@@ ')) [oldLines, newLines] = [Number(old), Number(now)]
  }
  return files
}

function recordedChanges(row: ToolCallRow): FileChange[] {
  if (row.status !== 'success') return []
  const change = (path: unknown, kind: unknown): FileChange[] =>
    typeof path === 'string' ? [{ path, kind: KINDS[String(kind)] ?? 'modified', added: null, removed: null }] : []
  const input = parseObject(row.inputJson ?? '') ?? {}
  const metadata = metadataOf(row.outputJson)
  const named = listOf(metadata['changed']).flatMap((one) => change(fieldsOf(one)['path'], fieldsOf(one)['kind']))
  if (named.length > 0) return named
  const reported = listOf(metadata['changed_files']).flatMap((path) => change(path, 'modified'))
  if (reported.length > 0) return reported
  if (row.toolName === 'fork_apply') {
    const applied = listOf(parseObject(row.outputJson ?? '')?.['applied']).map(fieldsOf)
    return applied.filter(({ type }) => type !== 'directory').flatMap(({ path, kind }) => change(path, kind))
  }
  const patched = listOf(input['files']).flatMap((one) => change(fieldsOf(one)['path'], fieldsOf(one)['change']))
  if (patched.length > 0) return patched
  return FILE_TOOLS.has(row.toolName) ? change(input['path'], 'modified') : []
}

/** What a call was refused: what the sandbox named, or the target of a call that was refused as a whole. */
export function refusalsOf(row: ToolCallRow): Refusal[] {
  const error = parseObject(row.errorJson ?? '') ?? {}
  const details = fieldsOf(error['details'])
  const named = [metadataOf(row.outputJson), fieldsOf(error['metadata']), details].flatMap(({ denials }) => listOf(denials).flatMap(denial))
  if (named.length > 0) return named.slice(0, MAX_LISTED)
  const layer = row.status === 'success' ? undefined : refuser(String(error['code']), details)
  if (layer === undefined) return []
  const subject = [details['host'], details['path']].find((one) => typeof one === 'string') ?? shownTarget(row)
  return [{ layer, subject: `${String(subject).slice(0, 300)}` }]
}

function denial(value: unknown): Refusal[] {
  const { layer, subject } = fieldsOf(value)
  if (typeof subject !== 'string' || !['network', 'files', 'limits'].includes(String(layer))) return []
  return [{ layer: layer as Refusal['layer'], subject: subject.slice(0, 300) }]
}

/** The agent that made a call of a contract session; `null` if the row does not say. */
export function agentOf({ outputJson, errorJson }: ToolCallRow): string | null {
  const json = outputJson ?? errorJson
  if (json === null || !json.includes('"agent"')) return null
  const { agent } = parseObject(json) ?? {}
  return typeof agent === 'string' && agent !== '' ? agent.slice(0, 200) : null
}

function metadataOf(json: string | null): Fields {
  if (json === null || !json.includes('"metadata"')) return {}
  return fieldsOf(parseObject(json)?.['metadata'])
}

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : [])
