import { checkSchema } from './check-schema.js'
import type { ThreadState } from './thread-state.js'
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
 * @throws {TypeError} for a description that is empty, an `execute` that is no function, an unknown
 * execution mode, `args` or `tenvs` that are no Zod 4 object, have a type that is not supported, or
 * more than seven levels; the message has the path (`args.filter.when: unsupported Zod type "date"`).
 */
export function defineTool<
  State = ThreadState,
  Args extends ToolArgs | null = null,
  Tenvs extends ToolTenvs | null = null,
>(
  options: DefineToolOptions<State, Args, Tenvs> & Checked<'args', Args> & Checked<'tenvs', Tenvs>,
): ToolDefinition<NoInfer<State>, NoInfer<Args>, NoInfer<Tenvs>>
export function defineTool(options: LooseOptions): object {
  if (typeof options !== 'object' || options === null) throw new TypeError('defineTool: options must be an object')
  const { description, execute, executionMode, executionProvider } = options
  if (typeof description !== 'string' || description.trim() === '') {
    throw new TypeError('defineTool: description must be a non-empty string')
  }
  if (typeof execute !== 'function') throw new TypeError('defineTool: execute must be a function')
  if (executionMode !== undefined && executionMode !== 'local' && executionMode !== 'provider') {
    throw new TypeError(`defineTool: executionMode must be "local" or "provider", not ${JSON.stringify(executionMode)}`)
  }
  if (executionProvider !== undefined && (typeof executionProvider !== 'string' || executionProvider === '')) {
    throw new TypeError('defineTool: executionProvider must be a non-empty string')
  }
  const args = options.args ?? null
  const tenvs = options.tenvs ?? null
  if (args !== null) checkSchema(args, 'args')
  if (tenvs !== null) checkSchema(tenvs, 'tenvs')
  if (executionMode === 'provider' && executionProvider === undefined) warnWithoutProvider(description)
  return markTool({ description, args, execute, tenvs, executionMode, executionProvider })
}

/** What somebody may give who does not ask the compiler. */
type LooseOptions = { [KEY in keyof DefineToolOptions]?: unknown }

function warnWithoutProvider(description: string): void {
  console.warn(
    `[toolwright] defineTool: executionMode "provider" without executionProvider; nobody will execute "${description}".`,
  )
}
