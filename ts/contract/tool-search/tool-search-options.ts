import { invalid } from '../../core/options.js'

/** When tools of servers and extensions are hidden, and how many a search gives. */
export interface ToolSearchOptions {
  /** Whether any is ever hidden. @default true */
  enabled?: boolean | undefined
  /** The most tools that are listed all. @default 20 */
  threshold?: number | undefined
  /** The most matches of one search, at most 10. @default 10 */
  maxMatches?: number | undefined
}

const MOST = 10

/** @throws {ToolError} INVALID_INPUT */
export function resolveToolSearch(given: unknown): Required<{ [K in keyof ToolSearchOptions]: Exclude<ToolSearchOptions[K], undefined> }> {
  if (typeof given !== 'object' || given === null) throw invalid('toolSearch must be an object.')
  const { enabled = true, threshold = 20, maxMatches = MOST, ...rest } = given as ToolSearchOptions
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) throw invalid(`toolSearch.${unknown} is not known; there are enabled, threshold and maxMatches.`)
  if (typeof enabled !== 'boolean') throw invalid('toolSearch.enabled must be true or false.')
  if (!Number.isSafeInteger(threshold) || threshold < 0) throw invalid('toolSearch.threshold must be a whole number.')
  if (!Number.isSafeInteger(maxMatches) || maxMatches < 1 || maxMatches > MOST) throw invalid(`toolSearch.maxMatches must be 1 to ${MOST}.`)
  return { enabled, threshold, maxMatches }
}
