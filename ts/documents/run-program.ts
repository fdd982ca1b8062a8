/** Runs a program that takes a document apart. */
import type { KeepOptions, KeptProcess } from '../core/kept-process.js'

/** The most bytes that a program prints. */
const MAX_OUTPUT_BYTES = 32_000_000

/** The input and output of such a program. */
export const PROGRAM_IO: KeepOptions = { input: 'pipe', stderrApart: true, holds: true, headBytes: 0, tailBytes: 1_000_000 }

/** A program that printed too much, or ended without an answer. */
export class ProgramFailed extends Error {}

/**
 * Gives a process the bytes of a document, and takes what it prints.
 *
 * @throws {ProgramFailed}, or the signal's reason. The process has ended then.
 */
export async function outputOf(process: KeptProcess, document: Uint8Array, signal: AbortSignal): Promise<Buffer> {
  try {
    // A program that prints errors which nobody reads would wait.
    void drained(process).catch(() => undefined)
    const [output] = await Promise.all([collected(process, signal), given(process, document, signal)])
    return output
  } finally {
    await process.kill().catch(() => undefined)
  }
}

async function given(process: KeptProcess, document: Uint8Array, signal: AbortSignal): Promise<void> {
  // A program that needs no more of it closes its input: its output says the rest.
  await process.write(document, signal)
  process.closeInput()
}

async function collected(process: KeptProcess, signal: AbortSignal): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of process.output('stdout', signal)) {
    length += piece.length
    if (length > MAX_OUTPUT_BYTES) throw new ProgramFailed('it gives more than can be shown')
    pieces.push(piece)
  }
  if (length > 0) return Buffer.concat(pieces)
  const end = await process.wait(1_000, signal)
  const how = end === undefined ? 'it closed its output' : (end.signal ?? `exit code ${end.exitCode ?? 'unknown'}`)
  throw new ProgramFailed(`its reader ended without an answer (${how})`)
}

async function drained(process: KeptProcess): Promise<void> {
  for await (const piece of process.output('stderr')) void piece
}
