import { contractCodes } from '../registry/envelope.js'

/** Why a value is no envelope; `undefined` when it is one. */
export function envelopeProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return 'it is no object'
  const { type, data, error_text, metadata, ...others } = value as Record<string, unknown>
  if (Object.keys(others).length > 0) return `it has ${Object.keys(others).join(', ')} besides`
  if (type === 'output') {
    if (data === undefined) return 'an output without data'
    if (error_text !== undefined) return 'an output with error_text'
  } else if (type === 'error') {
    if (typeof error_text !== 'string' || error_text === '') return 'an error without error_text'
    if (data !== undefined) return 'an error with data'
  } else return `its type is ${String(type)}`
  return metadataProblem(metadata, type) ?? jsonProblem(value)
}

function metadataProblem(metadata: unknown, type: string): string | undefined {
  if (typeof metadata !== 'object' || metadata === null) return 'it has no metadata'
  const { duration_ms, code, truncated, output_path, notes, changed_files, changed } = metadata as Record<string, unknown>
  if (!Number.isInteger(duration_ms) || Number(duration_ms) < 0) return 'duration_ms is no whole number'
  if (code !== undefined && (typeof code !== 'string' || !Object.hasOwn(contractCodes, code))) return `code is ${String(code)}`
  if (code !== undefined && (code === 'ok') !== (type === 'output')) return `code ${String(code)} with type ${type}`
  if (truncated !== undefined && typeof truncated !== 'boolean') return 'truncated is no boolean'
  if (output_path !== undefined && (typeof output_path !== 'string' || output_path === '')) return 'output_path is no path'
  if (!areTexts(notes)) return 'notes are no texts'
  if (!areTexts(changed_files)) return 'changed_files are no paths'
  if (!areChanges(changed)) return 'changed has no paths with their kinds'
  if (truncated === true && output_path === undefined) return 'truncated without output_path'
  return undefined
}

const kinds = ['created', 'modified', 'deleted']

const areChanges = (list: unknown): boolean =>
  list === undefined || (Array.isArray(list) && list.every((change) => areTexts([change?.path]) && kinds.includes(change.kind as string)))

const areTexts = (list: unknown): boolean =>
  list === undefined || (Array.isArray(list) && list.every((text) => typeof text === 'string' && text !== ''))

function jsonProblem(value: object): string | undefined {
  try {
    const text = JSON.stringify(value)
    return JSON.stringify(JSON.parse(text)) === text ? undefined : 'it is no JSON'
  } catch {
    return 'it is no JSON'
  }
}
