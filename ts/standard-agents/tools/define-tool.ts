import { ToolError, toolTypeError } from '../../core/errors.js'
import { isPlain, takenOptions } from '../../core/options.js'
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
 * @throws {TypeError} for a name that is no option, a description that is empty, an `execute` that is no function, an unknown
 * execution mode, `args` or `tenvs` that are no Zod 4 object, have a type that is not supported, or
 * more than seven levels; the message has the path (`args.filter.when: unsupported Zod type "date"`).
 */
export function defineTool<State = ThreadState, Args extends ToolArgs | null = null, Tenvs extends ToolTenvs | null = null>(
  options: DefineToolOptions<State, Args, Tenvs> & Checked<'args', Args> & Checked<'tenvs', Tenvs>,
): ToolDefinition<NoInfer<State>, NoInfer<Args>, NoInfer<Tenvs>>
export function defineTool(options: LooseOptions): object {
  const { description, execute, executionMode, executionProvider, args = null, tenvs = null } = takenParts(options)
  if (typeof description !== 'string' || description.trim() === '') {
    throw toolTypeError('defineTool: description must be a non-empty string')
  }
  if (typeof execute !== 'function') throw toolTypeError('defineTool: execute must be a function')
  if (executionMode !== undefined && executionMode !== 'local' && executionMode !== 'provider') {
    const given = typeof executionMode === 'string' ? JSON.stringify(executionMode) : `of type ${typeof executionMode}`
    throw toolTypeError(`defineTool: executionMode must be "local" or "provider", not ${given}`)
  }
  if (executionProvider !== undefined && (typeof executionProvider !== 'string' || executionProvider === '')) {
    throw toolTypeError('defineTool: executionProvider must be a non-empty string')
  }
  if (args !== null) readable(() => checkSchema(args, 'args'))
  if (tenvs !== null) readable(() => checkSchema(tenvs, 'tenvs'))
  if (executionMode === 'provider' && executionProvider === undefined) warnWithoutProvider(description)
  return markTool({ description, args, execute, tenvs, executionMode, executionProvider })
}

const names = ['description', 'args', 'execute', 'tenvs', 'executionMode', 'executionProvider']

/** The options, each looked at once. */
function takenParts(options: LooseOptions): LooseOptions {
  if (typeof options !== 'object' || options === null) throw toolTypeError('defineTool: options must be an object')
  return readable(() => {
    // An object of a class may have a state of its own.
    const unknown = isPlain(options) ? Object.keys(options).find((name) => !names.includes(name)) : undefined
    if (unknown !== undefined) throw toolTypeError(`defineTool: ${unknown} is no option; there are ${names.join(', ')}`)
    return takenOptions(options, names)
  })
}

/** What a getter or a proxy throws is told as what it is: options that nobody can read. */
function readable<T>(look: () => T): T {
  try {
    return look()
  } catch (error) {
    if (ToolError.isInstance(error)) throw error
    throw toolTypeError(`defineTool: the options cannot be read: ${error instanceof Error ? error.message : 'they throw'}`, error)
  }
}

/** What somebody may give who does not ask the compiler. */
type LooseOptions = { [KEY in keyof DefineToolOptions]?: unknown }

function warnWithoutProvider(description: string): void {
  console.warn(`[toolwright] defineTool: executionMode "provider" without executionProvider; nobody will execute "${description}".`)
}
