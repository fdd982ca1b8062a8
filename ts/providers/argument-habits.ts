/** What models call the arguments of the tools that providers define, where another tool of theirs has another name. */
import { all, refusalText, refusedArguments, type ToolWords } from '../core/argument-words/argument-words.js'
import { invalid } from '../core/options.js'

const words: ToolWords = {
  habits: {
    bash: all('cmd script code input commands', 'command'),
    exec_command: { ...all('command commands script code', 'cmd'), ...all('cwd directory working_directory', 'workdir') },
    write_stdin: { ...all('id session sessionId process_id', 'session_id'), ...all('input text data stdin', 'chars') },
  },
}

/** Refuses a call without an argument that it cannot do without, and says what the given ones are called here. @throws {ToolError} INVALID_INPUT */
export function refuseWithout(tool: string, name: string, args: unknown, allowed: readonly string[]): void {
  if (typeof args !== 'object' || args === null) throw invalid(`${tool} takes an object with \`${name}\`.`)
  if ((args as Record<string, unknown>)[name] !== undefined) return
  const unknown = Object.keys(args).filter((one) => !allowed.includes(one))
  const findings = [
    ...unknown.map((one) => `/${one.replaceAll('~', '~0').replaceAll('/', '~1')}: there is no such property`),
    `/: Instance does not have required property "${name}"`,
  ]
  const schema = { properties: Object.fromEntries(allowed.map((one) => [one, {}])) }
  throw refusedArguments(refusalText(words, tool, schema, args, findings))
}
