import { z } from 'zod'
import type { DefinedToolContext } from '../call-context.js'
import type { ToolContext } from '../context.js'
import { type CallableTool, defineBoundTool } from '../define-tool.js'
import { grantedRoot } from '../../core/granted-root.js'
import { callInTurn } from '../../core/native.js'
import { invalid } from '../../core/options.js'
import type { BoundToolOptions, ToolOptions } from '../settings.js'
import { callPlan } from './call-plan.js'
import { forModel } from './model-errors.js'
import { type Toolkit, withNote } from './model-output.js'

/** Input of the `grep` tool. */
export interface GrepInput {
  pattern: string
  path?: string | undefined
}

const schema = z.object({
  pattern: z.string().describe('The regular expression to search for'),
  path: z.string().optional().describe('Directory or file to search; the root directory when left out'),
})

/** The `grep` tool: matching lines with their file and number, as `rg -n` prints them. */
export type GrepTool = CallableTool<GrepInput, string>

/** Makes the `grep` tool of a tool set. */
export function createGrepTool(bound: BoundToolOptions, description: string, toolkit?: Toolkit): GrepTool {
  return defineBoundTool(
    {
      name: 'grep',
      description,
      schema,
      sideEffect: false,
      idempotent: true,
      // Without a second parameter: a key would be of no use, and the original's metadata says so.
      execute: (...[{ pattern, path }, ctx]: [GrepInput, DefinedToolContext]) => {
        const search = (): Promise<string> => grepFiles(pattern, path, ctx, bound)
        return toolkit === undefined ? search() : forModel('grep', bound, search)
      },
    },
    bound,
    {
      toModelOutput: toolkit && (({ input, output }) => withNote({}, output, noMatches(input))),
    },
  )
}

/** What stands for no match: flags in a pattern are searched for as text, which finds nothing. */
function noMatches({ pattern }: GrepInput): string {
  const flag = /^-{1,2}[a-zA-Z][\w-]*(?:\s|$)/u.exec(pattern)?.[0].trim()
  if (flag === undefined) return '(no matches)'
  const move = flag === '-i' ? 'to ignore case, begin it with (?i)' : 'leave it out'
  return `(no matches: \`${flag}\` was searched for as text, since the pattern takes no flags; ${move})`
}

/**
 * Searches for a regular expression, in the current context.
 *
 * @returns lines of `file:line:text`, or an empty string when nothing matches.
 * @throws {ToolError} TOOL_GREP_FAILED for a bad pattern or a missing path; PROCESS_TIMEOUT with the
 * lines so far in `details.output`; TOOL_PATH_ESCAPE outside of the root.
 */
export async function grepTool(pattern: string, path?: string): Promise<string> {
  return grepFiles(pattern, path, undefined, {})
}

/** The addon stops by itself at the timeout; this is how much later a stuck disk is given up. */
const STUCK_MS = 1_000

async function grepFiles(pattern: string, path: string | undefined, ctx: ToolContext | undefined, bound: ToolOptions): Promise<string> {
  const plan = callPlan(ctx, bound, 'grep')
  if (typeof pattern !== 'string') throw invalid('pattern must be a string.')
  const target = path === undefined ? '.' : plan.path(path)
  const limits = plan.limits(`grep ${target}`, plan.timeoutMs + STUCK_MS)
  return callInTurn(limits, (addon, cancel) =>
    addon.grep(grantedRoot(addon, plan), pattern, target, plan.maxOutputBytes, plan.timeoutMs, cancel),
  )
}
