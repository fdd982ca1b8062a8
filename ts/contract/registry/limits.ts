import { type Check, group, optional, wholeNumber } from '../../core/options.js'

/** Limits on the results and the duration of a session's calls. */
export interface Limits {
  /** The most bytes of a file that one `read` returns. @default 200000 */
  readBytes: number
  /**
   * The largest image that `read` shows, in bytes, in a session with `documents`. Set it only for models and providers that take images in
   * results: others get the bytes as text. At most 3,750,000 bytes are shown.
   * @default 0, which refuses images
   */
  imageBytes: number
  /** The maximum number of entries of a `glob`. @default 1000 */
  globEntries: number
  /** The maximum number of matches of a `grep`. @default 200 */
  grepMatches: number
  /** The maximum number of lines of the tree of a `repo_overview`. @default 200 */
  overviewLines: number
  /** The most bytes of a command's output, stdout and stderr together. @default 200000 */
  bashBytes: number
  /** The most bytes of any other tool's output, as JSON text. @default 200000 */
  outputBytes: number
  /** The most bytes of a text for `write` and `edit`, and of a file in `edit`. @default 10000000 */
  textBytes: number
  /** The most bytes of an output that are stored in a file of the session. @default 64000000 */
  sidecarBytes: number
  /** The default timeout of a command, in milliseconds. @default 60000 */
  commandMs: number
  /** The maximum timeout that a command may ask for, in milliseconds. @default 3600000 */
  maxCommandMs: number
  /** The maximum number of processes of `process_start` that run at once, those of subagents included. @default 32 */
  processes: number
  /** The time limit of a search, in milliseconds. @default 60000 */
  searchMs: number
  /** The most bytes of a page's text that `web_fetch` returns, after conversion from HTML. @default 200000 */
  webFetchBytes: number
  /** The most bytes of a page, both downloaded and decompressed. @default 5000000 */
  webFetchRawBytes: number
  /** How many pages a session may fetch, together with its subagents. @default 25 */
  webFetchCalls: number
  /** The time limit of a fetch, including redirects, in milliseconds. @default 15000 */
  webFetchMs: number
  /** How many web searches a session may make, together with its subagents. @default 25 */
  webSearchCalls: number
  /** The time limit of a web search, in milliseconds. @default 15000 */
  webSearchMs: number
  /** The time limit of a watchdog, in milliseconds. Without an answer the call is refused. @default 5000 */
  watchdogMs: number
  /** The time limit of a prompt, in milliseconds. Without an answer the call is refused. @default 600000 */
  promptMs: number
  /** The time limit of a question, in milliseconds. @default 3600000 */
  questionMs: number
  /** The maximum depth of subagents. @default 5 */
  agentDepth: number
  /** The maximum number of subagents at work, at any depth. @default 32 */
  agents: number
  /** The time limit of a subagent, in milliseconds. @default 3600000 */
  taskMs: number
}

/** The limits of a session that sets none. KB are 1000 bytes. */
export const defaultLimits: Readonly<Limits> = {
  readBytes: 200_000,
  imageBytes: 0,
  globEntries: 1_000,
  grepMatches: 200,
  overviewLines: 200,
  bashBytes: 200_000,
  outputBytes: 200_000,
  textBytes: 10_000_000,
  sidecarBytes: 64_000_000,
  commandMs: 60_000,
  maxCommandMs: 3_600_000,
  processes: 32,
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

/** The maximum of timers and of the addon. */
const MAX_LIMIT = 2 ** 31 - 1

const ofOne = optional(wholeNumber(1, MAX_LIMIT))
const orNone = optional(wholeNumber(0, MAX_LIMIT))
const ofAll = group(Object.fromEntries(Object.keys(defaultLimits).map((name) => [name, name === 'imageBytes' ? orNone : ofOne])))

/** Limits, with the defaults for those that are left out. */
export const allLimits: Check<Readonly<Limits>> = (value, name) => Object.freeze({ ...defaultLimits, ...ofAll(value, name) })
