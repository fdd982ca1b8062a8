/** Times and ids that only ever grow, so that calls and runs sort by when they began. */
import { randomBytes } from 'node:crypto'

let lastMs = 0
/** The last moment at which the wall clock was ahead, on both clocks. */
let synced = { wall: 0, monotonic: 0 }

/**
 * The time in milliseconds since 1970, which never decreases. After the wall clock is set back, the monotonic clock continues
 * the time, so that durations stay right.
 */
export function steadyNow(): number {
  const [wall, monotonic] = [Date.now(), performance.now()]
  if (wall >= lastMs) {
    synced = { wall, monotonic }
    lastMs = wall
  } else lastMs = Math.max(lastMs, Math.floor(synced.wall + monotonic - synced.monotonic))
  return lastMs
}

let lastUuid = { ms: 0, count: 0 }

/**
 * A UUID that begins with the time (RFC 9562, version 7). UUIDs that one process makes in the same millisecond sort by a
 * counter, in the place that the RFC gives it.
 */
export function uuidV7(now = Date.now()): string {
  const bytes = randomBytes(16)
  lastUuid = nextUuid(now, bytes.readUInt16BE(6))
  bytes.writeUIntBE(lastUuid.ms, 0, 6)
  bytes.writeUInt16BE(0x7000 | lastUuid.count, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** A new millisecond starts in the lower half of the counter's range; a full counter borrows a millisecond. */
function nextUuid(now: number, random: number): { ms: number; count: number } {
  const { ms, count } = lastUuid
  if (now > ms) return { ms: now, count: random & 0x7ff }
  return count < 0xfff ? { ms, count: count + 1 } : { ms: ms + 1, count: random & 0x7ff }
}
