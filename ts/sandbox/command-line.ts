/** Checks and copies a caller's command, and builds the arguments of the shell. */
import type * as Addon from '../../index.js'
import { hostVariables, variableTexts } from '../core/environment.js'
import { ToolError } from '../core/errors.js'
import { abortSignal as signalCheck, boolean, type Checks, invalid, optional, parseOptions, string } from '../core/options.js'
import type { CommandFiles } from './command-files.js'
import type { Place, Variables } from './space.js'
import type { SpawnOptions } from './types.js'

/** The longest command line. The system takes no argument of 131,072 bytes or more. */
const MAX_LINE_BYTES = 120_000

const checks = {
  command: (value, name) => {
    const line = string(value, name)
    if (line.includes('\0')) throw invalid(`${name} holds a NUL byte.`)
    const bytes = Buffer.byteLength(line)
    if (bytes <= MAX_LINE_BYTES) return line
    throw invalid(`${name} has ${bytes} bytes, and a command has at most ${MAX_LINE_BYTES}. Write a long script to a file.`, { bytes })
  },
  workingDirectory: optional((value, name) => {
    const path = string(value, name)
    if (path.includes('\0')) throw invalid(`${name} holds a NUL byte.`)
    return path
  }),
  env: optional((value, name) => variablesOf(variableTexts(value, name))),
  abortSignal: optional(signalCheck),
  stdin: optional(boolean, false),
} satisfies Checks<SpawnOptions>

function variablesOf(variables: Variables): Variables | undefined {
  return Object.keys(variables).length === 0 ? undefined : variables
}

/** A checked command. */
export interface CommandLine {
  command: string
  workingDirectory: string | undefined
  env: Variables | undefined
  abortSignal: AbortSignal | undefined
  stdin: boolean
}

/** @throws {ToolError} INVALID_INPUT */
export function parseCommand(method: string, options: SpawnOptions): CommandLine {
  const { command, workingDirectory, env, abortSignal, stdin } = parseOptions(`sandbox.${method}`, options, checks)
  return { command, workingDirectory, env, abortSignal, stdin }
}

/** The recorded form of a command. */
export const recordedLine = ({ command, workingDirectory }: CommandLine): Record<string, unknown> =>
  workingDirectory === undefined ? { command } : { command, workingDirectory }

/** The script that enters a directory and runs the line in it. */
const ELSEWHERE = 'cd -- "$1" || exit 1; exec "$0" -c "$2"'

/**
 * Starts a command in its directory. The addon opens a directory below the root. The shell enters any other directory,
 * because only commands see it.
 *
 * @throws {ToolError} TOOL_FILE_NOT_FOUND or TOOL_NOT_A_DIRECTORY for the directory.
 */
export async function startIn<T>(
  line: CommandLine,
  place: Place,
  files: CommandFiles,
  signal: AbortSignal,
  start: (command: Addon.Command) => Promise<T>,
): Promise<T> {
  const { command, workingDirectory = '.' } = line
  const cwd = workingDirectory === '' ? '.' : workingDirectory
  const hostEnv = hostVariables()
  const call = (args: string[], directory: string): Promise<T> =>
    start({ cmd: place.shell, args, cwd: directory, ...(hostEnv !== undefined && { hostEnv }) })
  try {
    return await call(['-c', command], cwd)
  } catch (error) {
    if (!ToolError.isInstance(error)) throw error
    const path = files.absolute(cwd)
    if (error.code === 'TOOL_FILE_NOT_FOUND' || error.code === 'TOOL_NOT_A_DIRECTORY') {
      throw noDirectory(path, error.code === 'TOOL_NOT_A_DIRECTORY')
    }
    if (error.code !== 'TOOL_PATH_ESCAPE') throw error
    const existing = await files.stat(path, signal)
    if (existing?.type !== 'directory') throw noDirectory(path, existing !== null)
    return await call(['-c', ELSEWHERE, place.shell, path, command], '.')
  }
}

function noDirectory(path: string, isThere: boolean): ToolError {
  const summary = isThere ? 'Not a directory' : 'Directory not found'
  return new ToolError({
    code: isThere ? 'TOOL_NOT_A_DIRECTORY' : 'TOOL_FILE_NOT_FOUND',
    summary,
    place: `${summary}: \`${path}\``,
    hint: 'Give the path of a directory as workingDirectory, or leave it out for the root directory.',
    details: { path },
  })
}
