import { toolTypeError } from '../../core/errors.js'
import { isPlain } from '../../core/options.js'
import { checkSchema } from './check-schema.js'
import type { ThreadState } from '../thread/thread-state.js'
import type { Checked, ToolArgs, ToolTenvs } from './tool-args.js'
import { type DefineToolOptions, markTool, type ToolDefinition } from './tool-definition.js'

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
export function defineTool(options: LooseOptions): object {
  if (typeof options !== 'object' || options === null) throw toolTypeError('defineTool: options must be an object')
  // An instance of a class may have private state.
  const unknown = isPlain(options) ? Object.keys(options).find((name) => !names.includes(name)) : undefined
  if (unknown !== undefined) throw toolTypeError(`defineTool: ${unknown} is no option; there are ${names.join(', ')}`)
  const { description, execute, executionMode, executionProvider, args = null, tenvs = null } = options
  if (typeof description !== 'string' || description.trim() === '') {
    throw toolTypeError('defineTool: description must be a non-empty string')
  }
  if (typeof execute !== 'function') throw toolTypeError('defineTool: execute must be a function')
  if (executionMode !== undefined && executionMode !== 'local' && executionMode !== 'provider') {
    const actual = typeof executionMode === 'string' ? JSON.stringify(executionMode) : `of type ${typeof executionMode}`
    throw toolTypeError(`defineTool: executionMode must be "local" or "provider", not ${actual}`)
  }
  if (executionProvider !== undefined && (typeof executionProvider !== 'string' || executionProvider === '')) {
    throw toolTypeError('defineTool: executionProvider must be a non-empty string')
  }
  if (args !== null) checkSchema(args, 'args')
  if (tenvs !== null) checkSchema(tenvs, 'tenvs')
  if (executionMode === 'provider' && executionProvider === undefined) {
    console.warn(`[toolwright] defineTool: executionMode "provider" without executionProvider; nobody will execute "${description}".`)
  }
  return markTool({ description, args, execute, tenvs, executionMode, executionProvider })
}

const names = ['description', 'args', 'execute', 'tenvs', 'executionMode', 'executionProvider']

/** Options of a caller without type checks. */
type LooseOptions = { [KEY in keyof DefineToolOptions]?: unknown }
