import { argumentsError, readArguments } from './execution/read-arguments.js'
import { failure, thrownResult, toToolResult } from './execution/tool-result.js'
import { readTenvs } from './execution/read-tenvs.js'
import type { ThreadState } from '../thread/thread-state.js'
import type { AnyTool, ToolResult } from './tool-definition.js'

/** A call of a tool that is about to be executed. */
export interface Execution {
  name: string
  /** Without one, nobody knows the name. */
  tool: AnyTool | undefined
  argumentsJson: string
  /** The state that the tool is given, with the thread's variables as its schema gives them. */
  stateWith(tenvs: Record<string, unknown> | undefined): ThreadState
  /** What the thread has for variables. */
  tenvs: Record<string, unknown>
}

/**
 * Executes a tool: arguments, then variables, then `execute`. Whatever goes wrong is the result; it
 * never throws.
 */
export async function executeTool({ name, tool, argumentsJson, stateWith, tenvs }: Execution): Promise<ToolResult> {
  if (tool === undefined) return failure(`Tool not found: ${name}`)
  if (tool.executionMode === 'provider') return failure(providerText(name))
  try {
    const args = await readArguments(tool, argumentsJson)
    if ('error' in args) return failure(argumentsError(args.error))
    const variables = await readTenvs(name, tool, tenvs)
    if ('error' in variables) return failure(variables.error)
    const state = stateWith(variables.value)
    // One argument where there is no second one: a tool may count them.
    const execute = tool.execute as (...given: unknown[]) => Promise<unknown>
    const returned = await (tool.args === null ? execute(state) : execute(state, args.value))
    return toToolResult(name, returned)
  } catch (error) {
    return thrownResult(error)
  }
}

const providerText = (name: string): string =>
  `Tool "${name}" is a provider-executed tool and should be handled by the LLM provider, not executed locally. This may indicate a provider configuration issue.`
