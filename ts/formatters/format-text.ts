/** Runs a formatter that is confined: it gets a text, and prints it as the project has it. */
import type { KeepOptions, KeptProcess } from '../core/kept-process.js'
import { printable } from '../core/printable.js'

/** The input and output of a formatter. */
export const FORMATTER_IO: KeepOptions = { input: 'pipe', stderrApart: true, holds: true, headBytes: 0, tailBytes: 1_000_000 }

/** Of a complaint that is longer, the beginning is shown. */
const MAX_COMPLAINT = 300
const MAX_COMPLAINT_BYTES = 64_000
/** How much more than the text a formatter may print. */
const MAX_GROWTH = 4
const MIN_BYTES = 1_000_000

/** A formatter that has not formatted: it has said why, most often that the text has an error. */
export class NotFormatted extends Error {}

/** The text as the formatter prints it. @throws {NotFormatted}, or the signal's reason. The process has ended then. */
export async function formatText(process: KeptProcess, text: string, signal: AbortSignal): Promise<string> {
  try {
    const input = Buffer.from(text)
    const most = Math.max(MIN_BYTES, input.length * MAX_GROWTH)
    const [output, complaint] = await Promise.all([
      collected(process, 'stdout', most, signal),
      collected(process, 'stderr', MAX_COMPLAINT_BYTES, signal),
      given(process, input, signal),
    ])
    const end = await process.wait(Infinity, signal)
    if (end?.exitCode !== 0) throw new NotFormatted(complaintOf(complaint) || (end?.signal ?? `exit code ${end?.exitCode ?? 'unknown'}`))
    const formatted = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(output)
    if (formatted.trim() === '' && text.trim() !== '') throw new NotFormatted('it printed nothing')
    return formatted
  } catch (error) {
    if (error instanceof TypeError) throw new NotFormatted('it printed no UTF-8')
    throw error
  } finally {
    await process.kill().catch(() => undefined)
  }
}

async function given(process: KeptProcess, input: Uint8Array, signal: AbortSignal): Promise<void> {
  await process.write(input, signal)
  process.closeInput()
}

async function collected(process: KeptProcess, stream: 'stdout' | 'stderr', most: number, signal: AbortSignal): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of process.output(stream, signal)) {
    length += piece.length
    if (length <= most) pieces.push(piece)
    else if (stream === 'stdout') throw new NotFormatted('it prints more than a formatted text')
  }
  return Buffer.concat(pieces)
}

/** The first line of a complaint that says something. */
function complaintOf(bytes: Buffer): string {
  // eslint-disable-next-line no-control-regex -- colours
  const text = bytes.toString('utf8').replaceAll(/\u001b\[[\d;]*m/gu, '')
  const line = text.split('\n').find((one) => /[a-z]/iu.test(one)) ?? ''
  return printable(line.trim().slice(0, MAX_COMPLAINT))
}
