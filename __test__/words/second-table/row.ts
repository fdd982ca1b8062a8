// The form of a row of the second table. Its rows were written from the documents and from public reports on other agents' tools, before their author had
// read any source of this package, so that what an answer has to say does not come from what it says.

/** The doors of the package. `plain` is `createTools` with its six tools alone; `toolkit` has `apply_patch` and processes as well. */
export type Door = 'toolkit' | 'plain' | 'contract' | 'anthropic' | 'openai' | 'codex' | 'mcp' | 'standard' | 'sandbox' | 'cli'

/** A call at a door; or what another program writes meanwhile; or a pause. */
export type Step = { tool: string; args: unknown } | { put: string; text: string } | { pauseMs: number }

/** A mistake, and what a right answer to it says. */
export type SecondRow = {
  id: string
  /** What was mistaken: `path`, `unknown argument`, … */
  kind: string
  /** The calls; the last is the mistake. */
  steps: Step[]
  /** Whether the last call may succeed: `true` has to, `false` must not, `'either'` if both are right. */
  ok: boolean | 'either'
  /** What a right answer says: what happened, where, and a next move that works at this door. */
  right: string
  /** What its text has to match, all of them. */
  says: RegExp[]
  /** What its text must not match. */
  never?: RegExp[]
  /** The next move that the answer advises. It has to succeed. */
  move?: Step
}

/** What no answer at any door may show. What the AI SDK writes around an error of ours is its own. */
export const neverAnywhere = [
  /\[object Object\]/,
  /\bNaN\b/,
  /\bzod\b/i,
  /^\s+at .+:\d+:\d+\)?$/m,
  // oxlint-disable-next-line no-control-regex
  /\u001b/,
]
