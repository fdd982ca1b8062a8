import type { core } from 'zod/v4'
import en from 'zod/v4/locales/en.js'
import { ArgumentProblem, jsonCopy } from '../../core/argument-copy.js'
import { meantTool } from '../../core/text.js'
import type { ThreadState } from '../thread/thread-state.js'
import type { AnyTool } from './tool-definition.js'
import { failure, thrownResult, toToolResult, type ToolResult } from './tool-result.js'

/** A call of a tool. */
export interface Execution {
  name: string
  /** Undefined when no tool has the name. */
  tool: AnyTool | undefined
  /** The names of all tools. */
  names(): readonly string[]
  argumentsJson: string
  /** Makes the state for the tool, with the thread's variables as its schema returns them. */
  stateWith(tenvs: Record<string, unknown> | undefined): ThreadState
  /** The thread's variables. */
  tenvs: Record<string, unknown>
}

/**
 * Executes a tool: arguments, then variables, then `execute`. It never throws; a failure is the result.
 */
export async function executeTool({ name, tool, names, argumentsJson, stateWith, tenvs }: Execution): Promise<ToolResult> {
  if (tool === undefined) {
    const near = meantTool(name, names())
    return failure(`Tool not found: ${name}${near === undefined ? '' : `. Did you mean ${near}?`}`)
  }
  if (tool.executionMode === 'provider') {
    const advice = 'should be handled by the LLM provider, not executed locally. This may indicate a provider configuration issue.'
    return failure(`Tool "${name}" is a provider-executed tool and ${advice}`)
  }
  try {
    const args = await readArguments(tool, argumentsJson)
    if ('error' in args) return failure(`Tool argument validation failed: ${args.error}`)
    const variables = await readTenvs(name, tool, tenvs)
    if ('error' in variables) return failure(variables.error)
    const state = stateWith(variables.value)
    // A tool without arguments gets exactly one parameter.
    const execute = tool.execute as (...parameters: unknown[]) => Promise<unknown>
    const returned = await (tool.args === null ? execute(state) : execute(state, args.value))
    return toToolResult(name, returned)
  } catch (error) {
    return thrownResult(error)
  }
}

/** The largest arguments that a schema is run over. */
const limits = { values: 100_000, characters: 20_000_000, depth: 100 }

/** A frozen copy of arguments that become JSON. @throws {ArgumentProblem} for values without a JSON form, and at the first limit. */
export const boundedArguments = (args: unknown): unknown => jsonCopy(args, limits).value

/** The JSON of arguments. @throws what `refuse` makes of the reason, when they have none. */
export function stringifyArguments(args: unknown, refuse: (why: string, cause?: unknown) => Error): string {
  let json: string | undefined
  try {
    json = JSON.stringify(boundedArguments(args))
  } catch (error) {
    throw refuse(`have no JSON form: ${error instanceof Error ? error.message : String(error)}`, error)
  }
  if (json === undefined) throw refuse('have no JSON form')
  return json
}

/** Parses the arguments of a call. An empty text means none. @throws {SyntaxError} for text that is not JSON. */
export const parseArguments = (json: string): unknown => JSON.parse(json.trim() === '' ? '{}' : json)

/**
 * Parses and validates the arguments of a call: defaults filled in, unknown keys removed.
 *
 * @throws {SyntaxError} for text that is not JSON.
 */
async function readArguments({ args }: AnyTool, argumentsJson: string): Promise<{ value: unknown } | { error: string }> {
  if (args === null) return { value: void parseArguments(argumentsJson) }
  const tooMuch = (message: string) => ({ error: `[root] ${message}. Call again with less at once` })
  if (argumentsJson.length > 2 * limits.characters) return tooMuch(`there are more than ${2 * limits.characters} characters`)
  let input: unknown
  try {
    input = parseArguments(argumentsJson)
    boundedArguments(input)
  } catch (error) {
    if (error instanceof ArgumentProblem) return tooMuch(error.message)
    throw error
  }
  const parsed = await args.safeParseAsync(input)
  if (parsed.success) return { value: parsed.data }
  const kept = withoutNothing(input, parsed.error.issues)
  if (kept === undefined) return { error: listIssues(parsed.error.issues) }
  // Models give `null` for an optional argument that they have no use for, as OpenAI's strict mode asks of them.
  const again = await args.safeParseAsync(kept)
  return again.success ? { value: again.data } : { error: listIssues(parsed.error.issues) }
}

/** The arguments without each `null` that the schema does not take; `undefined` if something else is wrong. */
function withoutNothing(input: unknown, issues: readonly core.$ZodIssue[]): unknown {
  if (typeof input !== 'object' || input === null) return undefined
  const copy = structuredClone(input)
  for (const { path } of issues) {
    const [name, ...above] = path.toReversed()
    let holder: unknown = copy
    for (const step of above.toReversed()) holder = (holder as Record<PropertyKey, unknown> | undefined)?.[step]
    if (name === undefined || typeof holder !== 'object' || holder === null || (holder as Record<PropertyKey, unknown>)[name] !== null)
      return undefined
    delete (holder as Record<PropertyKey, unknown>)[name]
  }
  return copy
}

/** `[a.b] message; [root] message` */
function listIssues(issues: readonly Pick<core.$ZodIssue, 'path' | 'message'>[]): string {
  return issues.map(({ path, message }) => `[${path.map(String).join('.') || 'root'}] ${message}`).join('; ')
}

/**
 * Validates the thread's variables for one call; `undefined` for a tool that declares none. Values are often
 * secrets, so no text includes one, whatever messages the schema's author wrote.
 */
async function readTenvs(
  name: string,
  tool: AnyTool,
  tenvs: Record<string, unknown>,
): Promise<{ value: Record<string, unknown> | undefined } | { error: string }> {
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
  const isMissing = ({ path }: core.$ZodIssue): boolean => path.length === 1 && tenvs[String(path[0])] === undefined
  const missing = issues.filter(isMissing)
  const wrong = issues.filter((issue) => !isMissing(issue))
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

const englishOf = en().localeError

/** Zod's own English for an issue, in place of the schema author's message. */
function describeIssue(issue: core.$ZodIssue, tenvs: Record<string, unknown>): string {
  let input: unknown = tenvs
  for (const key of issue.path) input = (input as Record<PropertyKey, unknown> | null | undefined)?.[key]
  const text = englishOf({ ...issue, input } as core.$ZodRawIssue)
  return (typeof text === 'string' ? text : text?.message) ?? 'Invalid input'
}
