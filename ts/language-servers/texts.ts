/** What a model reads of language servers. */
import { relative } from 'node:path'
import { printable } from '../core/printable.js'
import type { Check, NewProblems } from './check.js'
import { problemLine } from './problems.js'

/** How many problems are shown. */
const MAX_SHOWN = 20

const files = (count: number): string => (count === 1 ? '1 file' : `${count} files`)

/** The new problems, one on each line. */
function shown(found: readonly NewProblems[], rootDir: string): string {
  const lines = found.flatMap(({ path, problems }) => problems.map((problem) => printable(problemLine(relative(rootDir, path), problem))))
  const more = lines.length - MAX_SHOWN
  const rest = more > 0 ? [`(${more} more; see each file with lsp, action "diagnostics".)`] : []
  return [...lines.slice(0, MAX_SHOWN), ...rest].join('\n')
}

/** What an answer to an edit says of a check, as far as it has come. */
export function checkedText(server: string, { found, checked, left, hasNear }: Check, rootDir: string): string {
  if (!hasNear && found.length === 0) return `(Not checked yet by the ${server} language server: the next answer tells what is new.)`
  const going = left > 0 ? `; ${files(left)} that may depend on it not checked yet` : ''
  if (found.length === 0) return `(No new problems by the ${server} language server in ${files(checked)}${going}.)`
  return `New problems by the ${server} language server (${files(checked)} checked${going}):\n${shown(found, rootDir)}`
}

/** What a later answer says of an edit whose check had not ended. */
export function lateText(server: string, edited: readonly string[], { found, checked, left }: Check, rootDir: string): string {
  const names = edited.map((path) => relative(rootDir, path)).join(', ')
  const going = left > 0 ? `, ${left} not` : ''
  if (found.length === 0) return `(Of the edit of ${names}: no new problems by the ${server} language server in ${files(checked)}${going}.)`
  return `New problems since the edit of ${names}, by the ${server} language server (${files(checked)} checked${going}):\n${shown(found, rootDir)}`
}

/** What an answer says of an edit that no server can check now. */
export const failedText = (server: string, why: string, again: string): string =>
  `(Not checked: the ${server} language server has failed: ${why}. ${again})`
