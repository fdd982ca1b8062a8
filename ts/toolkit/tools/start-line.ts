/** Command lines of tools: the shell that reads them, and long-running ones, behind the layers of `bash`. */
import { findBash } from '../../core/find-bash.js'
import type { KeepOptions } from '../../core/kept-process.js'
import { OUTPUT_FILE_BYTES } from '../../core/processes/process-table.js'
import type { StartRequest } from '../../core/processes/start-request.js'
import { terminalVariables } from '../../core/environment.js'
import { getToolContext } from '../../journal/calls/context.js'
import { processRecorder } from '../../journal/calls/process-record.js'
import type { BuiltInContext } from '../define-tool.js'
import type { BoundToolOptions } from '../settings.js'
import { callPlan, commandOf, commandSettings, guardCommand } from './call-plan.js'

/** The command line to start. */
export interface LineToStart {
  command: string
  /** @default the root directory */
  workdir?: string | undefined
  input: NonNullable<KeepOptions['input']>
  /** The shell that reads the line. @default bash, or sh if there is none */
  shell?: string | undefined
  /** Whether the variables for plain output are set even without a terminal. @default false */
  isPlain?: boolean | undefined
}

/**
 * Makes the start of a line for a process table. The process ends with the abort of the call's run.
 *
 * @throws {ToolError} INVALID_INPUT, TOOL_NETWORK_DISABLED, TOOL_GIT_REMOTE_DISABLED
 */
export function startLine(
  { command, workdir = '.', input, shell, isPlain = false }: LineToStart,
  call: BuiltInContext,
  bound: BoundToolOptions,
): StartRequest {
  const plan = callPlan(call)
  const { cmd, args } = shell === undefined ? shellFor(command, call) : { cmd: shell, args: ['-c', command] }
  const guarded = guardCommand(plan, cmd, ['-c', command], workdir)
  const env = isPlain || input === 'terminal' ? { ...guarded.env, ...terminalVariables() } : guarded.env
  const program = commandOf({ cmd, args, cwd: workdir }, env)
  const settings = commandSettings(plan, bound)
  const { signal } = call
  return {
    command,
    start: (addon, keep, cancel) => addon.startProcess(settings(addon), program, keep, cancel),
    keep: { input, fileBytes: OUTPUT_FILE_BYTES },
    signal,
    lifetime: signal,
    record: processRecorder(getToolContext(), bound),
  }
}

/** The shell for a command line, with its arguments. bash reads none of its own files, and a line that begins with `-` is no option. */
export function shellFor(line: string, { settings }: Pick<BuiltInContext, 'settings'>): { cmd: string; args: string[] } {
  const bash = findBash([settings.rootDir, ...(settings.sandbox.writableRoots ?? [])])
  if (bash === undefined) return { cmd: 'sh', args: ['-c', '--', line] }
  return { cmd: bash, args: ['--norc', '--noprofile', '-c', '--', line] }
}
