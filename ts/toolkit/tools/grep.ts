import { z } from 'zod'
import { grantedRoot } from '../../core/grants.js'
import { traceStep } from '../../core/call-channel.js'
import { callLimited } from '../../core/native.js'
import { string } from '../../core/options.js'
import { type CallableTool, defineBuiltIn } from '../define-tool.js'
import type { BoundToolOptions } from '../settings.js'
import { callPlan, type CallSettings, directCall, pathText } from './call-plan.js'
import { guideModel } from './model-errors.js'
import { textWithNotes, type Toolkit } from './model-output.js'

/** Input of the `grep` tool. */
export interface GrepInput {
  pattern: string
  path?: string | undefined
}

const schema = z.object({
  pattern: z.string().describe('The regular expression to search for'),
  path: z.string().optional().describe('Directory or file to search; the root directory when left out'),
})

const outputSchema = z.string().describe('Lines of file:line:text; empty when nothing matches')

/** The `grep` tool: matching lines with their file and number, as `rg -n` prints them. */
export type GrepTool = CallableTool<GrepInput, string>

/** Makes the `grep` tool of a tool set. */
export function createGrepTool(bound: BoundToolOptions, description: string, toolkit?: Toolkit): GrepTool {
  return defineBuiltIn(
    {
      name: 'grep',
      description,
      schema,
      outputSchema,
      sideEffect: false,
      kind: 'grep',
      execute: (input: GrepInput, call) =>
        toolkit === undefined ? grepFiles(input, call) : grepFiles(input, call).catch(guideModel('grep', call)),
      toModelOutput: toolkit && (({ input, output }) => textWithNotes(output || noMatches(input))),
    },
    bound,
  )
}

/** The text for no match. It names a flag in the pattern, because the search takes the flag as text. */
function noMatches({ pattern }: GrepInput): string {
  const flag = /^-{1,2}[a-zA-Z][\w-]*(?:\s|$)/u.exec(pattern)?.[0].trim()
  if (flag === undefined) return '(no matches)'
  const move = flag === '-i' ? 'to ignore case, begin it with (?i)' : 'leave it out'
  return `(no matches: \`${flag}\` was searched for as text, since the pattern takes no flags; ${move})`
}

/**
 * Searches for a regular expression, in the current context.
 *
 * @returns lines of `file:line:text`, or an empty string if nothing matches.
 * @throws {ToolError} TOOL_GREP_FAILED for a bad pattern or a missing path; PROCESS_TIMEOUT with the
 * lines so far in `details.output`; TOOL_PATH_ESCAPE outside the root.
 */
export async function grepTool(pattern: string, path?: string): Promise<string> {
  return grepFiles({ pattern, path }, directCall('grep'))
}

/** The addon stops at the timeout. A search on a stuck disk ends this much later, in milliseconds. */
const HANG_GRACE_MS = 1_000

async function grepFiles({ pattern, path }: GrepInput, call: CallSettings): Promise<string> {
  const plan = callPlan(call)
  string(pattern, 'pattern')
  const target = path === undefined ? '.' : pathText(path)
  const limits = plan.limits(`grep ${target}`, plan.timeoutMs + HANG_GRACE_MS)
  return traceStep('search', { operation: 'grep' }, () =>
    callLimited(limits, (addon, cancel) =>
      addon.grep(grantedRoot(addon, plan), pattern, target, plan.maxOutputBytes, plan.timeoutMs, cancel),
    ),
  )
}
