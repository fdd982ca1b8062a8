import { parseObject } from '../core/parse-rows.js'
import { shellWord } from '../core/text.js'
import type { ToolCallRow } from './journal-store.js'

/** What a call was about: a command, a pattern, a path, the files of a patch, an address; of any other tool its arguments. */
export function targetOf({ kind, inputJson }: Pick<ToolCallRow, 'kind' | 'inputJson'>): string {
  if (inputJson === null) return kind === 'task' ? '(the whole task)' : ''
  const { cmd, args, command, pattern, path, url, files } = parseObject(inputJson) ?? {}
  if (typeof cmd === 'string') return [cmd, ...(Array.isArray(args) ? args.map(String) : [])].map(shellWord).join(' ')
  if (typeof command === 'string') return command
  if (typeof pattern === 'string') return typeof path === 'string' ? `${shellWord(pattern)} in ${path}` : shellWord(pattern)
  return [path, url, patchedFiles(files)].find((text) => typeof text === 'string') ?? inputJson
}

const LETTERS: Readonly<Record<string, string>> = { add: 'A', update: 'M', delete: 'D', move: 'R' }

/** The files of a patch as the result of `apply_patch` names them; nothing if this is no list of files. */
function patchedFiles(files: unknown): string | undefined {
  if (!Array.isArray(files) || files.length === 0) return undefined
  const named = files.map((file: unknown) => {
    const { path, change } = (file ?? {}) as Record<string, unknown>
    return typeof path === 'string' && typeof change === 'string' ? `${LETTERS[change] ?? change} ${path}` : undefined
  })
  return named.includes(undefined) ? undefined : named.join(', ')
}
