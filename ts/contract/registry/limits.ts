import { invalid } from '../../core/options.js'

/** How much a session's calls may give and how long they may take. */
export interface Limits {
  /** The most of a file that one `read` gives. @default 200000 */
  readBytes: number
  /** The most entries of a `glob`. @default 1000 */
  globEntries: number
  /** The most matches of a `grep`. @default 200 */
  grepMatches: number
  /** The most output of a command, stdout and stderr together. @default 200000 */
  bashBytes: number
  /** The most output of any other tool, as JSON text. @default 200000 */
  outputBytes: number
  /** The most text that `write` and `edit` take, and that a file may have in `edit`. @default 10000000 */
  textBytes: number
  /** The most of an output that is kept in a file of the session. @default 64000000 */
  sidecarBytes: number
  /** When a command is stopped that says nothing else. @default 60000 */
  commandMs: number
  /** The most that a command may ask for. @default 3600000 */
  maxCommandMs: number
  /** When a search is given up. @default 60000 */
  searchMs: number
  /** The most text of a page that `web_fetch` gives, after it was made of HTML. @default 200000 */
  webFetchBytes: number
  /** The most that is downloaded for a page, and that it may expand to. @default 5000000 */
  webFetchRawBytes: number
  /** How many pages a session fetches, with all agents that it calls. @default 25 */
  webFetchCalls: number
  /** When a fetch is given up, redirects and all. @default 15000 */
  webFetchMs: number
  /** How many searches of the web a session makes, with all agents that it calls. @default 25 */
  webSearchCalls: number
  /** When a search of the web is given up. @default 15000 */
  webSearchMs: number
  /** When a watchdog that does not answer is taken to say no. @default 5000 */
  watchdogMs: number
  /** When a prompt that nobody answers is taken to be rejected. @default 600000 */
  promptMs: number
  /** When a question that nobody answers is given up. @default 3600000 */
  questionMs: number
  /** How many agents may be above the last one that is called. @default 5 */
  agentDepth: number
  /** How many agents may be at work at once, at any depth. @default 32 */
  agents: number
  /** When an agent that does not finish is given up. @default 3600000 */
  taskMs: number
}

/** The limits of a session that sets none. KB are 1000 bytes. */
export const defaultLimits: Readonly<Limits> = {
  readBytes: 200_000,
  globEntries: 1_000,
  grepMatches: 200,
  bashBytes: 200_000,
  outputBytes: 200_000,
  textBytes: 10_000_000,
  sidecarBytes: 64_000_000,
  commandMs: 60_000,
  maxCommandMs: 3_600_000,
  searchMs: 60_000,
  webFetchBytes: 200_000,
  webFetchRawBytes: 5_000_000,
  webFetchCalls: 25,
  webFetchMs: 15_000,
  webSearchCalls: 25,
  webSearchMs: 15_000,
  watchdogMs: 5_000,
  promptMs: 600_000,
  questionMs: 3_600_000,
  agentDepth: 5,
  agents: 32,
  taskMs: 3_600_000,
}

/** What timers and the addon can count to. */
const MOST = 2 ** 31 - 1

/** @throws {ToolError} INVALID_INPUT for a limit that is none. */
export function resolveLimits(given: Partial<Limits> | undefined): Readonly<Limits> {
  const limits: Limits = { ...defaultLimits }
  for (const [name, value] of Object.entries(given ?? {})) {
    if (!Object.hasOwn(defaultLimits, name)) {
      throw invalid(`limits.${name} is not known; there are ${Object.keys(defaultLimits).join(', ')}.`)
    }
    if (value === undefined) continue
    if (!Number.isSafeInteger(value) || value < 1 || value > MOST) {
      throw invalid(`limits.${name} must be a whole number from 1 to ${MOST}.`)
    }
    limits[name as keyof Limits] = value
  }
  return Object.freeze(limits)
}
