import type { ToolCallRow } from './journal-store.js'

const PLAIN_WORD = /^[\w@%+=:,./-]+$/u

/** What a call was about: a command, a pattern, a path; of any other tool its arguments. */
export function targetOf({ kind, inputJson }: Pick<ToolCallRow, 'kind' | 'inputJson'>): string {
  if (inputJson === null) return kind === 'task' ? '(the whole task)' : ''
  const input = parsedInput(inputJson)
  const { cmd, args, command, pattern, path } = input ?? {}
  if (typeof cmd === 'string') return [cmd, ...words(args)].map(quoted).join(' ')
  if (typeof command === 'string') return command
  if (typeof pattern === 'string') return typeof path === 'string' ? `${quoted(pattern)} in ${path}` : quoted(pattern)
  return typeof path === 'string' ? path : inputJson
}

/** Recorded arguments; `undefined` for what is no object. */
export function parsedInput(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function words(args: unknown): string[] {
  return Array.isArray(args) ? args.map(String) : []
}

/** Quoted, where needed, as one word of a shell. */
function quoted(word: string): string {
  return PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
