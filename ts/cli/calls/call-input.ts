import type { ToolCallRow } from '../../journal/journal-store.js'

const PLAIN_WORD = /^[\w@%+=:,./-]+$/u

/** What a call was about: a command, a pattern, a path; of any other tool its arguments. */
export function targetOf({ kind, inputJson }: ToolCallRow): string {
  if (inputJson === null) return kind === 'task' ? '(the whole task)' : ''
  const input = parsed(inputJson)
  const { cmd, args, command, pattern, path } = input ?? {}
  if (typeof cmd === 'string') return [cmd, ...words(args)].map(quoted).join(' ')
  if (typeof command === 'string') return command
  if (typeof pattern === 'string') return typeof path === 'string' ? `${quoted(pattern)} in ${path}` : quoted(pattern)
  return typeof path === 'string' ? path : inputJson
}

/**
 * The bytes a call was given. Of a content or a patch the journal keeps only the size, and that is
 * what was given; of anything else it is the length of the arguments.
 */
export function inputBytesOf({ inputJson }: ToolCallRow): number | null {
  if (inputJson === null) return null
  const { contentBytes, patchBytes } = parsed(inputJson) ?? {}
  const kept = contentBytes ?? patchBytes
  return typeof kept === 'number' ? kept : Buffer.byteLength(inputJson)
}

/** The bytes a call gave back, also those that were cut. */
export function outputBytesOf({ outputJson, outputBytes }: ToolCallRow): number | null {
  return outputBytes ?? (outputJson === null ? null : Buffer.byteLength(outputJson))
}

function parsed(json: string): Record<string, unknown> | undefined {
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

/** As a shell would take it for one word. */
function quoted(word: string): string {
  return PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
