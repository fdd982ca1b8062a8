/** The output of commands for clients: in version 1 by `_meta`, under Zed's names, and in version 2 as terminals. */
import type { Envelope } from '../registry/envelope.js'
import { recordOf } from '../registry/json-schema.js'

/** The most output of one message. Encoded, it stays below 64 KB. */
const CHUNK_BYTES = 48_000

/** The fields that Zed reads: a call's terminal, its output, and how its command ended. */
export type ZedTerminal = {
  terminal_info?: { terminal_id: string; cwd?: string }
  terminal_output?: { terminal_id: string; data: string }
  terminal_exit?: { terminal_id: string; exit_code: number | null; signal: string | null }
}

/** How the command of a call ended; both are null if it was not run, or was stopped. */
export function exitOf(result: Envelope): { exitCode: number | null; signal: string | null } {
  const { exit_code: code, signal } = recordOf(result.type === 'output' ? result.data : undefined)
  return { exitCode: typeof code === 'number' ? code : null, signal: typeof signal === 'string' ? signal : null }
}

/** Whether a call has started or read a process that goes on. */
export const isRunning = (result: Envelope): boolean => result.type === 'output' && recordOf(result.data)['running'] === true

/** The number of bytes that a command printed, by its envelope. */
export function outputBytesOf(result: Envelope): number {
  const { stdout, stderr, head, tail = '', left_out_bytes: leftOut = 0 } = recordOf(result.type === 'output' ? result.data : undefined)
  const parts = typeof head === 'string' ? [head, tail] : [stdout, stderr]
  return parts.reduce<number>((sum, part) => sum + (typeof part === 'string' ? Buffer.byteLength(part) : 0), Number(leftOut))
}

/** Splits a text into parts of at most 48,000 bytes, between characters. */
export function textChunks(text: string): string[] {
  const bytes = Buffer.from(text)
  const chunks: string[] = []
  for (let from = 0; from < bytes.length;) {
    let end = Math.min(bytes.length, from + CHUNK_BYTES)
    // The bytes within a character begin with the bits 10.
    while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
    chunks.push(bytes.toString('utf8', from, end))
    from = end
  }
  return chunks
}

export const base64 = (text: string): string => Buffer.from(text).toString('base64')
