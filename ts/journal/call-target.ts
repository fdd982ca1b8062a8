import { parseObject } from '../core/parse-rows.js'
import { shellWord } from '../core/text.js'
import type { ToolCallRow } from './journal-store.js'

/** What a call was about: a command, a pattern, a path, an address; of any other tool its arguments. */
export function targetOf({ kind, inputJson }: Pick<ToolCallRow, 'kind' | 'inputJson'>): string {
  if (inputJson === null) return kind === 'task' ? '(the whole task)' : ''
  const { cmd, args, command, pattern, path, url } = parseObject(inputJson) ?? {}
  if (typeof cmd === 'string') return [cmd, ...(Array.isArray(args) ? args.map(String) : [])].map(shellWord).join(' ')
  if (typeof command === 'string') return command
  if (typeof pattern === 'string') return typeof path === 'string' ? `${shellWord(pattern)} in ${path}` : shellWord(pattern)
  return [path, url].find((text) => typeof text === 'string') ?? inputJson
}
