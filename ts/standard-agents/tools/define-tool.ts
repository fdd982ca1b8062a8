import { ToolError, toolTypeError } from '../../core/errors.js'
import { callable, type Check, type Checks, invalid, must, optional, type Parsed, parseOptions, text } from '../../core/options.js'
import { checkSchema } from './check-schema.js'
import type { ThreadState } from '../thread/thread-state.js'
import type { Checked, ToolArgs, ToolTenvs } from './tool-args.js'
import { type DefineToolOptions, type ExecutionMode, markTool, type Tool, type ToolDefinition } from './tool-definition.js'

const schemaOf = (value: unknown, name: 'args' | 'tenvs'): ToolArgs | null => {
  if (value === undefined || value === null) return null
  checkSchema(value, name)
  return value as ToolArgs
}

const executionMode: Check<ExecutionMode> = (value, name) => {
  if (value === 'local' || value === 'provider') return value
  const actual = typeof value === 'string' ? JSON.stringify(value) : `of type ${typeof value}`
  throw invalid(`${name} must be "local" or "provider", not ${actual}.`)
}

const checks = {
  description: must<string>((value) => typeof value === 'string' && value.trim() !== '', 'a non-empty string'),
  args: (value) => schemaOf(value, 'args'),
  execute: callable<Tool<ThreadState, ToolArgs | null>>(),
  tenvs: (value) => schemaOf(value, 'tenvs'),
  executionMode: optional(executionMode),
  executionProvider: optional(text),
} satisfies Checks<DefineToolOptions<ThreadState, ToolArgs | null, ToolTenvs | null>>

/**
 * Defines a function tool that agents call.
 *
 * ```ts
 * export default defineTool({
 *   description: 'Search the knowledge base for relevant articles',
 *   args: z.object({ query: z.string().describe('Search query') }),
 *   execute: async (state, args) => ({ status: 'success', result: await search(args.query) }),
 * })
 * ```
 *
 * @throws {TypeError} for an unknown option, an empty description, an `execute` that is not a function, an unknown
 * execution mode, and `args` or `tenvs` that are not a Zod 4 object, have an unsupported type or more than seven
 * levels. The message has the path (`args.filter.when: unsupported Zod type "date"`).
 */
export function defineTool<State = ThreadState, Args extends ToolArgs | null = null, Tenvs extends ToolTenvs | null = null>(
  options: DefineToolOptions<State, Args, Tenvs> & Checked<'args', Args> & Checked<'tenvs', Tenvs>,
): ToolDefinition<NoInfer<State>, NoInfer<Args>, NoInfer<Tenvs>>
export function defineTool(options: unknown): object {
  const { description, args, execute, tenvs, executionMode: mode, executionProvider: provider } = parseDefinition(options)
  if (mode === 'provider' && provider === undefined) {
    console.warn(`[toolwright] defineTool: executionMode "provider" without executionProvider; nobody will execute "${description}".`)
  }
  return markTool({ description, args, execute, tenvs, executionMode: mode, executionProvider: provider })
}

/** The options, checked. What is wrong with a definition is a TypeError, as of the function that this one stands for. */
function parseDefinition(options: unknown): Parsed<typeof checks> {
  try {
    return parseOptions('defineTool', options, checks)
  } catch (error) {
    if (!ToolError.isInstance(error) || error instanceof TypeError) throw error
    throw toolTypeError(`defineTool: ${error.summary.replace(/\.$/u, '')}`)
  }
}
