/** `run`: runs a command to its end. */
import { call } from '../core/native.js'
import { type CommandLine, recordedLine, startIn } from './command-line.js'
import type { CommandFiles } from './command-files.js'
import { makeCall } from './recorded-call.js'
import type { Space } from './space.js'
import type { RunResult } from './types.js'

/** How long an aborted command may take to end, in milliseconds. */
const KILL_GRACE_MS = 5_000

/** @throws {ToolError} if the command was not run. An exit code and a signal are results. */
export function runCommand(line: CommandLine, space: Space, files: CommandFiles): Promise<RunResult> {
  return makeCall(space, {
    name: 'run',
    sideEffect: true,
    input: recordedLine(line),
    signal: line.abortSignal,
    replayed: (output) => output as RunResult,
    work: async (signal) => {
      const place = await space.place()
      const terms = {
        timeoutMs: Infinity,
        streamBytes: space.settings.maxOutputBytes,
        // A program reads it.
        isScreen: false,
        ...(line.env !== undefined && { variables: { ...line.env } }),
      }
      const limits = { signal, what: 'run', graceMs: KILL_GRACE_MS }
      const ended = await startIn(line, place, files, signal, (command) =>
        call(limits, (addon, cancel) => addon.runCaptured(place.conditions(), command, terms, cancel)),
      )
      const { stdout, stderr, exitCode, signalNumber, timedOut } = ended
      const value = { exitCode: timedOut ? 124 : (exitCode ?? 128 + (signalNumber ?? 0)), stdout, stderr }
      return { value, output: value }
    },
  })
}
