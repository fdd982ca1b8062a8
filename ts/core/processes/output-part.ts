/** A part of a process's output as text: what a person would see of it, up to a limit. */
import type { OutputPiece } from '../../../index.js'
import type { KeptProcess } from '../kept-process.js'
import { nativeAddon } from '../native.js'

/** A part of a stream. */
export interface OutputPart {
  text: string
  /** The position at which it begins. */
  at: number
  /** The position at which the next part begins. */
  next: number
  /** The bytes written so far. */
  total: number
}

/** The requested part. */
export interface PartRequest {
  stream: 'stdout' | 'stderr'
  from: number
  maxBytes: number
  /** The most bytes of the text as JSON, in which every control character takes six. */
  maxJsonBytes: number
  /** Whether it continues a part that ended between two characters, so that it begins with a whole one. */
  continues: boolean
}

export async function outputPart(process: KeptProcess, request: PartRequest): Promise<OutputPart> {
  const { stream, from, maxBytes, maxJsonBytes, continues } = request
  const { screenText } = await nativeAddon()
  const piece = await process.read({ stream, from, maxBytes })
  const skipped = await begunBefore(process, stream, piece, continues && piece.at === from)
  let end = piece.bytes.length
  if (!piece.isEnded || piece.at + end < piece.total) end = wholeUntil(piece.bytes, skipped, end)
  end = Math.max(end, skipped)
  for (;;) {
    const text = screenText(piece.bytes.subarray(skipped, end))
    if (end - skipped <= 1 || Buffer.byteLength(JSON.stringify(text)) <= maxJsonBytes) return partOf(piece, skipped, end, text)
    end = Math.max(skipped + 1, wholeUntil(piece.bytes, skipped, skipped + Math.floor((end - skipped) / 2)))
  }
}

/** An escape sequence whose end is missing. */
// eslint-disable-next-line no-control-regex -- it begins with one
const OPEN_SEQUENCE = /\u001B(?:\[[0-?]*[ -/]*|[\]PX^_][^\u0007\u001B]*\u001B?|[ -/]*)$/u
/** How much of a sequence is looked at. Titles and links have no limit. */
const SEQUENCE_BYTES = 2048

/** The number of bytes at the end that begin an escape sequence whose rest may still come. */
function openSequence(bytes: Buffer): number {
  const found = OPEN_SEQUENCE.exec(bytes.toString('latin1', Math.max(0, bytes.length - SEQUENCE_BYTES)))
  return found === null ? 0 : found[0].length
}

/** Where the last character and sequence before this position end. One that is longer than the part is not waited for. */
function wholeUntil(bytes: Buffer, from: number, end: number): number {
  const whole = end - openCharacter(bytes.subarray(0, end))
  const withoutOpen = whole - openSequence(bytes.subarray(from, whole))
  return withoutOpen > from ? withoutOpen : whole
}

/** The number of bytes at the beginning that belong to a sequence which began before, or to a character, unless a part `continues`. */
async function begunBefore(
  process: KeptProcess,
  stream: 'stdout' | 'stderr',
  { at, bytes }: OutputPiece,
  continues: boolean,
): Promise<number> {
  const before = Math.min(at, SEQUENCE_BYTES)
  const earlier = await process.read({ stream, from: at - before, maxBytes: before })
  const known = earlier.at + earlier.bytes.length === at ? earlier.bytes : Buffer.alloc(0)
  const open = openSequence(known)
  if (open === 0) return continues ? 0 : continuationsAt(bytes)
  const begun = known.subarray(known.length - open)
  for (let count = 1; count <= Math.min(bytes.length, SEQUENCE_BYTES); count += 1)
    if (openSequence(Buffer.concat([begun, bytes.subarray(0, count)])) === 0) return count
  return bytes.length
}

function partOf({ at, total }: OutputPiece, skipped: number, end: number, text: string): OutputPart {
  return { text, at: at + skipped, next: at + end, total: Math.max(total, at + end) }
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** The number of bytes at the beginning that belong to an earlier character. */
function continuationsAt(bytes: Uint8Array): number {
  let count = 0
  while (count < 3 && isContinuation(bytes[count])) count += 1
  return isContinuation(bytes[count]) ? 0 : count
}

/** The number of bytes at the end that begin a character whose rest may still come. */
function openCharacter(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if (isContinuation(byte)) continue
    const length = byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1
    return length > back ? back : 0
  }
  return 0
}
