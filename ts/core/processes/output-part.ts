/** A part of a process's output as text: whole characters, up to a limit. */
import type { OutputPiece } from '../../../index.js'
import type { KeptProcess } from '../kept-process.js'

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
  const piece = await process.read({ stream, from, maxBytes })
  // Any other part can begin within a character.
  const skipped = continues && piece.at === from ? 0 : continuationsAt(piece.bytes)
  let end = piece.bytes.length
  if (!piece.isEnded || piece.at + end < piece.total) end -= openCharacter(piece.bytes)
  end = Math.max(end, skipped)
  for (;;) {
    const text = piece.bytes.toString('utf8', skipped, end)
    if (end - skipped <= 1 || Buffer.byteLength(JSON.stringify(text)) <= maxJsonBytes) return partOf(piece, skipped, end, text)
    const half = skipped + Math.floor((end - skipped) / 2)
    end = Math.max(skipped + 1, half - openCharacter(piece.bytes.subarray(0, half)))
  }
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
