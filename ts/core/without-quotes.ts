import { ToolError } from './errors.js'

/** What a refused edit tells of where it failed, and not of what stands there. */
const kept = new Set(['path', 'reason', 'hunk', 'line', 'otherLine', 'patchLine', 'column', 'nearestLines', 'patchHash', 'patchBytes'])

/** Codes of errors that quote the file or the text that was to get into it. */
const quoting: ReadonlySet<string> = new Set(['TOOL_PATCH_FAILED', 'TOOL_EDIT_NO_MATCH'])

/**
 * An error as it may be recorded. A refused edit shows its caller lines of the patch and of the file; a
 * record holds neither, as it holds no contents of a call that succeeds.
 */
export function withoutQuotes(error: unknown): unknown {
  if (!ToolError.isInstance(error) || !quoting.has(error.code)) return error
  const { code, summary } = error
  const details = Object.fromEntries(Object.entries(error.details).filter(([name]) => kept.has(name)))
  const { path, reason, ...numbers } = details
  const where = [
    ...(typeof reason === 'string' ? [reason.replaceAll(/[-_]/gu, ' ')] : []),
    ...Object.entries(numbers).flatMap(([name, value]) => (typeof value === 'number' ? [`${words[name] ?? name} ${value}`] : [])),
  ]
  const place = `${summary}: \`${String(path)}\`${where.length === 0 ? '' : `: ${where.join(', ')}`}`
  return new ToolError({ code, summary, place, hint: '', details })
}

const words: Readonly<Record<string, string>> = {
  otherLine: 'other line',
  patchLine: 'line of the patch',
  patchBytes: 'bytes of the patch',
}

/** The same for the text of a session's `edit`, which shows the lines most like the one that is missing. */
export function textWithoutQuotes(text: string): string {
  const lines = text.indexOf('; near line ')
  return lines === -1 ? text : `${text.slice(0, lines)} (the lines that were shown are not kept)`
}
