/** Decodes and encodes the text of files. */
import { invalid } from '../core/options.js'

/** @throws {ToolError} INVALID_INPUT for an unknown encoding. */
export function checkDecoding(encoding: string): (bytes: Uint8Array) => string {
  // Buffer keeps a byte order mark, which is part of the file.
  if (Buffer.isEncoding(encoding)) return (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding)
  try {
    const decoder = new TextDecoder(encoding, { ignoreBOM: true })
    return (bytes) => decoder.decode(bytes)
  } catch {
    throw invalid(`encoding: ${JSON.stringify(encoding)} is no known encoding.`)
  }
}

/** @throws {ToolError} INVALID_INPUT for an encoding that cannot be written. */
export function encoded(text: string, encoding: string): Buffer {
  if (Buffer.isEncoding(encoding)) return Buffer.from(text, encoding)
  throw invalid(`encoding: ${JSON.stringify(encoding)} cannot be used to write a text.`)
}

/** A range of lines of a text, with their original line endings. */
export function linesOf(text: string, startLine: number | undefined, endLine: number | undefined): string {
  if (startLine === undefined && endLine === undefined) return text
  const end = text.includes('\r\n') ? '\r\n' : text.includes('\n') ? '\n' : '\r'
  return text
    .split(end)
    .slice((startLine ?? 1) - 1, endLine)
    .join(end)
}
