import { randomBytes } from 'node:crypto'

let last = { ms: 0, count: 0 }

/**
 * A UUID that begins with the time (RFC 9562, version 7): runs sort by when they began. Those of one
 * process that begin in the same millisecond sort by a counter, in the place the RFC has for one.
 */
export function uuidV7(now = Date.now()): string {
  const bytes = randomBytes(16)
  last = next(now, bytes.readUInt16BE(6))
  bytes.writeUIntBE(last.ms, 0, 6)
  bytes.writeUInt16BE(0x7000 | last.count, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** A new millisecond starts in the lower half of the counter's range; a full counter borrows one. */
function next(now: number, random: number): { ms: number; count: number } {
  if (now > last.ms) return { ms: now, count: random & 0x7ff }
  return last.count < 0xfff ? { ms: last.ms, count: last.count + 1 } : { ms: last.ms + 1, count: random & 0x7ff }
}
