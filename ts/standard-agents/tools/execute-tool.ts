import type { core } from 'zod/v4'
import en from 'zod/v4/locales/en.js'
import { ArgumentProblem, jsonCopy } from '../../core/argument-copy.js'
import type { ThreadState } from '../thread/thread-state.js'
import type { AnyTool } from './tool-definition.js'
import { failure, thrownResult, toToolResult, type ToolResult } from './tool-result.js'

/** A call of a tool. */
export interface Execution {
  name: string
  /** Undefined when no tool has the name. */
  tool: AnyTool | undefined
  argumentsJson: string
  /** Makes the state for the tool, with the thread's variables as its schema returns them. */
  stateWith(tenvs: Record<string, unknown> | undefined): ThreadState
  /** The thread's variables. */
  tenvs: Record<string, unknown>
}

/**
 * Executes a tool: arguments, then variables, then `execute`. It never throws; a failure is the result.
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
    // A tool without arguments gets exactly one parameter.
    const execute = tool.execute as (...given: unknown[]) => Promise<unknown>
    const returned = await (tool.args === null ? execute(state) : execute(state, args.value))
    return toToolResult(name, returned)
  } catch (error) {
    return thrownResult(error)
  }
}

const providerText = (name: string): string =>
  `Tool "${name}" is a provider-executed tool and should be handled by the LLM provider, not executed locally. This may indicate a provider configuration issue.`

/** What does not fit a schema. */
type Issues = readonly Pick<core.$ZodIssue, 'path' | 'message'>[]

/** The largest arguments that a schema is run over. */
const limits = { values: 100_000, characters: 20_000_000, depth: 100 }

/** A frozen copy of arguments that become JSON. @throws {ArgumentProblem} for values without a JSON form, and at the first limit. */
export const boundedArguments = (args: unknown): unknown => jsonCopy(args, limits).value

/**
 * Parses and validates the arguments of a call: defaults filled in, unknown keys removed.
 *
 * @throws {SyntaxError} for text that is not JSON.
 */
async function readArguments(tool: AnyTool, argumentsJson: string): Promise<{ value: unknown } | { error: Issues }> {
  if (tool.args === null) return { value: isEmpty(argumentsJson) ? undefined : void JSON.parse(argumentsJson) }
  const tooMuch = (message: string) => ({ error: [{ path: [], message }] })
  if (argumentsJson.length > 2 * limits.characters)
    return tooMuch(`there are more than ${2 * limits.characters} characters. Call again with less at once`)
  let given: unknown
  try {
    given = isEmpty(argumentsJson) ? {} : JSON.parse(argumentsJson)
    boundedArguments(given)
  } catch (error) {
    if (error instanceof ArgumentProblem) return tooMuch(`${error.message}. Call again with less at once`)
    throw error
  }
  const parsed = await tool.args.safeParseAsync(given)
  return parsed.success ? { value: parsed.data } : { error: parsed.error.issues }
}

const isEmpty = (json: string): boolean => json.trim() === ''

/** The error that the model reads for invalid arguments. */
function argumentsError(issues: Issues): string {
  return `Tool argument validation failed: ${listIssues(issues)}`
}

/** `[a.b] message; [root] message` */
function listIssues(issues: Issues): string {
  return issues.map(({ path, message }) => `[${path.map(String).join('.') || 'root'}] ${message}`).join('; ')
}

/** Variables as a tool's schema returns them, or what is wrong with them. */
type Tenvs = { value: Record<string, unknown> | undefined } | { error: string }

/**
 * Validates the thread's variables for one call; `undefined` for a tool that declares none. Values are often
 * secrets, so no text includes one, whatever messages the schema's author wrote.
 */
async function readTenvs(name: string, tool: AnyTool, tenvs: Record<string, unknown>): Promise<Tenvs> {
  if (tool.tenvs === null) return { value: undefined }
  let parsed
  try {
    parsed = await tool.tenvs.safeParseAsync(tenvs)
  } catch {
    // The message of a refinement that throws may include the value.
    return { error: `Thread environment validation failed: [root] a check of tool "${name}" threw an error` }
  }
  if (parsed.success) return { value: parsed.data }
  const { issues } = parsed.error
  const missing = issues.filter((issue) => isMissing(issue, tenvs))
  const wrong = issues.filter((issue) => !missing.includes(issue))
  const texts = []
  if (missing.length > 0) {
    const names = missing.map(({ path }) => String(path[0])).join(', ')
    texts.push(`Missing required thread environment variables for tool "${name}": ${names}`)
  }
  if (wrong.length > 0) {
    const described = wrong.map((issue) => ({ path: issue.path, message: describeIssue(issue, tenvs) }))
    texts.push(`Thread environment validation failed: ${listIssues(described)}`)
  }
  return { error: texts.join('; ') }
}

function isMissing({ path }: core.$ZodIssue, tenvs: Record<string, unknown>): boolean {
  const [name] = path
  return path.length === 1 && name !== undefined && tenvs[String(name)] === undefined
}

const words = en().localeError

/** Zod's own English for an issue, in place of the schema author's message. */
function describeIssue(issue: core.$ZodIssue, tenvs: Record<string, unknown>): string {
  let input: unknown = tenvs
  for (const key of issue.path) input = (input as Record<PropertyKey, unknown> | null | undefined)?.[key]
  const text = words({ ...issue, input } as core.$ZodRawIssue)
  return (typeof text === 'string' ? text : text?.message) ?? 'Invalid input'
}
