/** `openai.tools.localShell`: one program with arguments. */
import { ToolError, withHint } from '../../core/errors.js'
import { invalid } from '../../core/options.js'
import type { ToolCallOptions } from '../../journal/calls/call-record.js'
import { recordedFunction } from '../../toolkit/built-in-call.js'
import type { BuiltInContext } from '../../toolkit/define-tool.js'
import { describedExecutor } from '../../toolkit/described-executor.js'
import { captureCommand, exitCodeOf, captureNotes } from '../command/capture-command.js'
import { commandLine, shortened, timeoutOf } from '../command/limits.js'
import { failureText, syntaxNote } from '../../toolkit/tools/model-errors.js'
import type { ProviderSettings } from '../settings.js'

/** The action of a model for the local shell. */
export interface LocalShellAction {
  type: 'exec'
  /** A program and its arguments. */
  command: string[]
  timeoutMs?: number | undefined
  /** Refused: commands run as the user of this process. */
  user?: string | undefined
  /** Relative to the root directory, or absolute within it. */
  workingDirectory?: string | undefined
  /** Variables of the command, in addition to those of the host's options. */
  env?: Record<string, string> | undefined
}

/** Runs the program. It never throws. */
export type LocalShellFunction = (input: { action: LocalShellAction }, options?: ToolCallOptions) => Promise<{ output: string }>

export function createLocalShell(settings: ProviderSettings): LocalShellFunction {
  const run = recordedFunction(
    {
      name: 'local_shell',
      sideEffect: true,
      kind: 'bash',
      execute: ({ action }: { action: LocalShellAction }, call) => runProgram(action, call, settings),
    },
    settings.bound,
  )
  return describedExecutor('local_shell', async (input, options) => {
    try {
      return await run(input, options)
    } catch (error) {
      return { output: failureText(ToolError.isInstance(error) ? inWords(error) : error) }
    }
  })
}

/** The error with the arguments that a model has here. */
function inWords(error: ToolError): ToolError {
  if (error.code === 'TOOL_FILE_NOT_FOUND' || error.code === 'TOOL_NOT_A_DIRECTORY')
    return withHint(error, 'Check `working_directory`, or leave it out to run in the root directory.')
  if (error.code === 'PROCESS_FAILED' && /\bargs\b/u.test(error.hint))
    return withHint(error, `Give the program and each argument as a text of its own; a line for the shell is ${LINE}.`)
  return error
}

const LINE = '["sh", "-c", "…"]'

async function runProgram(action: LocalShellAction, call: BuiltInContext, settings: ProviderSettings): Promise<{ output: string }> {
  const { cmd, args, cwd, variables } = checkedAction(action)
  const timeoutMs = timeoutOf(action.timeoutMs, call.settings, settings.maxTimeoutMs)
  const ended = await captureCommand({ cmd, args, cwd, timeoutMs, variables }, call, settings.bound)
  const code = exitCodeOf(ended)
  const end = ended.timedOut ? `The command was killed after ${timeoutMs} ms.` : code === 0 ? undefined : `Exit code ${code}.`
  const syntax = syntaxNote({ cmd, args }, LINE)
  const notes = [end, ...captureNotes(ended), syntax].filter((note) => note !== undefined).map((note) => `[${note}]`)
  const printed = shortened(join(ended.stdout, ended.stderr), call.settings.maxOutputBytes)
  return { output: notes.length === 0 ? printed : join(printed, notes.join('\n')) }
}

const join = (first: string, second: string): string =>
  first === '' || second === '' || first.endsWith('\n') ? `${first}${second}` : `${first}\n${second}`

function checkedAction(action: unknown) {
  if (typeof action !== 'object' || action === null) throw invalid('action must be an object.')
  const { command, user, workingDirectory = '.', env = {} } = action as Partial<LocalShellAction>
  if (!Array.isArray(command) || command.length === 0) throw invalid('action.command must hold a program and its arguments.')
  const [cmd = '', ...args] = command.map((word, index) => commandLine(word, `command[${index}]`))
  if (cmd === '') throw invalid('command[0] must name a program.')
  if (typeof workingDirectory !== 'string') throw invalid('workingDirectory must be a string.')
  if (typeof env !== 'object' || env === null) throw invalid('env must be an object of strings.')
  if (user !== undefined && user !== null && user !== '') {
    throw invalid('user cannot be chosen: commands run as the user of this process. Leave it out.')
  }
  const variables: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (typeof value !== 'string') throw invalid(`env.${name} must be a string.`)
    if (name === '' || name.includes('=') || `${name}${value}`.includes('\0'))
      throw invalid(`env: ${JSON.stringify(name)} cannot be a variable.`)
    variables[name] = value
  }
  return { cmd, args, cwd: workingDirectory === '' ? '.' : workingDirectory, variables }
}
