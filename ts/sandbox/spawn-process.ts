/** `spawn`: starts a command with streams. */
import { constants } from 'node:os'
import type { KeptProcessEnd } from '../../index.js'
import { ToolError } from '../core/errors.js'
import { type KeptProcess, startProcess } from '../core/kept-process.js'
import { invalid } from '../core/options.js'
import { byteStream } from './byte-stream.js'
import { type CommandLine, recordedLine, startIn } from './command-line.js'
import type { CommandFiles } from './command-files.js'
import { makeCall } from './recorded-call.js'
import type { Space } from './space.js'
import type { SandboxProcess, WritableSandboxProcess } from './types.js'

/** How long an aborted start may take, because a command that has started has to be killed. */
const START_GRACE_MS = 5_000
/** The most bytes of a stream that wait for the reader, besides the system's own buffer. */
const HELD_BYTES = 262_144
/** How much output that nobody wants is taken at once. */
const UNWANTED_BYTES = 65_536

/**
 * Starts a command. The record begins now and ends with the process.
 *
 * @throws {ToolError} if the command was not started.
 * @throws the signal's reason.
 */
export function spawnProcess(line: CommandLine, space: Space, files: CommandFiles): Promise<SandboxProcess | WritableSandboxProcess> {
  const { promise: started, resolve, reject } = Promise.withResolvers<SandboxProcess>()
  const recorded = makeCall(space, {
    name: 'spawn',
    sideEffect: true,
    input: { ...recordedLine(line), ...(line.stdin && { stdin: true }) },
    signal: line.abortSignal,
    work: async (signal) => {
      const { process, ended } = await start(line, space, files, signal)
      resolve(handleOf(process, line, signal))
      const end = await ended
      signal.throwIfAborted()
      const { userMs, systemMs, peakBytes } = end
      return { value: undefined, output: { exitCode: exitCodeOf(end), userMs, systemMs, peakBytes } }
    },
  })
  const settled = recorded.catch(reject).finally(() => space.pending.delete(settled))
  space.pending.add(settled)
  return started
}

async function start(line: CommandLine, space: Space, files: CommandFiles, signal: AbortSignal) {
  const place = await space.place()
  const { promise: ended, resolve: onEnd } = Promise.withResolvers<KeptProcessEnd>()
  const keep = { input: line.stdin ? 'pipe' : 'empty', stderrApart: true, headBytes: 0, tailBytes: HELD_BYTES, holds: true } as const
  const process = await startIn(line, place, files, signal, (command) =>
    startProcess(
      { signal, what: 'spawn', graceMs: START_GRACE_MS },
      (addon, native, cancel) => addon.startProcess(place.conditions(line.env), command, native, cancel),
      keep,
      { onEnd },
    ),
  )
  const id = space.processes.add(process)
  const kill = (): void => void process.kill()
  if (signal.aborted) kill()
  else signal.addEventListener('abort', kill, { once: true })
  void ended.finally(() => {
    signal.removeEventListener('abort', kill)
    space.processes.release(id)
  })
  return { process, ended }
}

function handleOf(process: KeptProcess, { stdin }: CommandLine, signal: AbortSignal): SandboxProcess | WritableSandboxProcess {
  const handle: SandboxProcess = {
    stdout: outputOf(process, 'stdout'),
    stderr: outputOf(process, 'stderr'),
    async wait() {
      const end = await process.wait()
      // The process may have ended before the signal.
      if (signal.aborted && end?.exitCode === undefined) throw signal.reason
      if (end === undefined) throw new Error('a wait without a limit has ended')
      return { exitCode: exitCodeOf(end) }
    },
    async kill() {
      await process.kill()
    },
  }
  return stdin ? Object.assign(handle, { stdin: inputOf(process) }) : handle
}

/** The exit code as a shell reports it. A lost process counts as killed. */
function exitCodeOf({ exitCode, signal }: KeptProcessEnd): number {
  const numbers: Readonly<Record<string, number>> = constants.signals
  return exitCode ?? 128 + (numbers[signal ?? 'SIGKILL'] ?? 9)
}

function outputOf(process: KeptProcess, stream: 'stdout' | 'stderr'): ReadableStream<Uint8Array> {
  let from = 0
  const readInto = async (target: Uint8Array): Promise<number> => {
    const { at, length } = await process.readInto(target, { stream, from, waitMs: Infinity })
    from = at + length
    return length
  }
  // Output that nobody wants must not hold up the process.
  return byteStream(readInto, async () => {
    const target = new Uint8Array(UNWANTED_BYTES)
    while ((await readInto(target)) > 0);
  })
}

const inputClosed = (): ToolError =>
  new ToolError({ code: 'PROCESS_ENDED', summary: 'The process has closed its input', hint: 'Read its output to see why.' })

function inputOf(process: KeptProcess): WritableStream<Uint8Array> {
  return new WritableStream<Uint8Array>({
    async write(chunk) {
      if (!(chunk instanceof Uint8Array)) throw invalid('stdin takes a Uint8Array.')
      if (chunk.byteLength > 0 && !(await process.write(chunk))) throw inputClosed()
    },
    close: () => process.closeInput(),
    abort: () => process.closeInput(),
  })
}
