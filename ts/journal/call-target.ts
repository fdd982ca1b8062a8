import { parseObject } from '../core/parse-rows.js'
import { shellWord } from '../core/text.js'
import type { ToolCallRow } from './journal-store.js'

/** What a call was about: a command, a pattern, a path, the files of a patch, an address; of any other tool its arguments. */
export function targetOf({ kind, inputJson }: Pick<ToolCallRow, 'kind' | 'inputJson'>): string {
  if (inputJson === null) return kind === 'task' ? '(the whole task)' : ''
  const { cmd, args, command, pattern, path, url, files, directory, inside, action, operation } = parseObject(inputJson) ?? {}
  if (typeof cmd === 'string') return [cmd, ...(Array.isArray(args) ? args.map(String) : [])].map(shellWord).join(' ')
  if (typeof command === 'string') return command
  if (typeof pattern === 'string') return typeof path === 'string' ? `${shellWord(pattern)} in ${path}` : shellWord(pattern)
  const { commands, command: words } = (action ?? {}) as { commands?: unknown; command?: unknown }
  if (Array.isArray(commands)) return commands.map(String).join('\n')
  if (Array.isArray(words)) return words.map(String).map(shellWord).join(' ')
  const { path: changed } = (operation ?? {}) as { path?: unknown }
  if (typeof changed === 'string') return changed
  const patched = patchedFiles(files, directory)
  if (patched !== undefined) return `${patched}${placeOf(inside)}`
  return [path, url].find((text) => typeof text === 'string') ?? inputJson
}

const LETTERS: Readonly<Record<string, string>> = { add: 'A', update: 'M', delete: 'D', move: 'R' }

/** The files of a patch as the result of `apply_patch` names them; nothing if this is no list of files. */
function patchedFiles(files: unknown, directory: unknown): string | undefined {
  if (!Array.isArray(files) || files.length === 0) return undefined
  const below = typeof directory === 'string' && directory !== '.' ? `${directory}/` : ''
  const named = files.map((file: unknown) => {
    const { path, change } = (file ?? {}) as Record<string, unknown>
    return typeof path === 'string' && typeof change === 'string' ? `${LETTERS[change] ?? change} ${below}${path}` : undefined
  })
  return named.includes(undefined) ? undefined : named.join(', ')
}

/** Whether a row is that of a patch which a command of another call has applied. */
export function isPatchInCommand({ toolName, inputJson }: Pick<ToolCallRow, 'toolName' | 'inputJson'>): boolean {
  return toolName === 'apply_patch' && placeOf(parseObject(inputJson)?.['inside']) !== ''
}

function placeOf(inside: unknown): string {
  const { tool, seq } = (inside ?? {}) as { tool?: unknown; seq?: unknown }
  return typeof tool === 'string' && typeof seq === 'number' ? ` (in ${tool}, seq ${seq})` : ''
}
