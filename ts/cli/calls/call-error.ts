import type { ToolCallRow } from '../../journal/journal-store.js'

/** Why a call failed, in one line; empty where the row does not say. */
export function errorOf({ errorJson }: ToolCallRow): string {
  if (errorJson === null) return ''
  let error: unknown
  try {
    error = JSON.parse(errorJson)
  } catch {
    return errorJson
  }
  if (typeof error === 'string') return error
  const { code, name, summary, message } = (error ?? {}) as Record<string, unknown>
  const what = [code, name].find((word) => typeof word === 'string')
  // A message may go on with where it happened and what to do; its first line says what did.
  const why = [summary, message].find((text) => typeof text === 'string')?.split('\n', 1)[0]
  return [what, why].filter((part) => part !== undefined && part !== '').join(': ')
}
