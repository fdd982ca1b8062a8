/** What models call the arguments of the tools that providers define, where another tool of theirs has another name. */
import { all, refusalText, refusedArguments, type ToolWords } from '../core/argument-words/argument-words.js'
import { z } from 'zod'
import { withoutNulls } from '../core/optional-arguments.js'
import { invalid } from '../core/options.js'

const words: ToolWords = {
  habits: {
    bash: all('cmd script code input commands', 'command'),
    exec_command: { ...all('command commands script code', 'cmd'), ...all('cwd directory working_directory', 'workdir') },
    view_image: all('file file_path filename image', 'path'),
    write_stdin: { ...all('id session sessionId process_id', 'session_id'), ...all('input text data stdin', 'chars') },
  },
}

/**
 * Refuses a call without an argument that it cannot do without, or with one that the tool does not have, and says what the given ones are
 * called here.
 *
 * @throws {ToolError} INVALID_INPUT
 */
export function refuseWithout(tool: string, name: string, args: unknown, allowed: readonly string[]): void {
  if (typeof args !== 'object' || args === null) throw invalid(`${tool} takes an object with \`${name}\`.`)
  const wrong = wrongNames(tool, name, args, allowed)
  if (wrong !== undefined) throw refusedArguments(wrong)
}

function wrongNames(tool: string, needed: string, args: object, allowed: readonly string[]): string | undefined {
  const unknown = Object.keys(args).filter((one) => !allowed.includes(one))
  const isMissing = (args as Record<string, unknown>)[needed] === undefined
  if (unknown.length === 0 && !isMissing) return undefined
  const findings = [
    ...unknown.map((one) => `/${one.replaceAll('~', '~0').replaceAll('/', '~1')}: there is no such property`),
    ...(isMissing ? [`/: Instance does not have required property "${needed}"`] : []),
  ]
  const schema = { properties: Object.fromEntries(allowed.map((one) => [one, {}])) }
  return refusalText(words, tool, schema, args, findings)
}

/** The arguments without `null`, for a schema that drops what it does not know: the model meant something by such an argument. */
export const knownNames =
  (tool: string, needed: string, schema: z.ZodObject) =>
  (value: unknown, context: z.core.$RefinementCtx): unknown => {
    const args = withoutNulls(value)
    const isObject = typeof args === 'object' && args !== null && !Array.isArray(args)
    const wrong = isObject ? wrongNames(tool, needed, args, Object.keys(schema.shape)) : undefined
    if (wrong === undefined) return args
    context.addIssue({ code: 'custom', message: wrong })
    return z.NEVER
  }
