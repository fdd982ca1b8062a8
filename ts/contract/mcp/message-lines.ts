/** A server may write byte by byte. */
const MAX_PARTS = 4_096

/** Splits a stream into lines up to a limit. */
export class MessageLines {
  readonly #limit: number
  #parts: Uint8Array[] = []
  #bytes = 0

  constructor(limitBytes: number) {
    this.#limit = limitBytes
  }

  /**
   * The lines that a piece of the stream completes, without line breaks. The rest waits for the next piece.
   *
   * @returns `undefined` if a line is too long. The earlier lines of this piece are lost with it.
   */
  push(piece: Uint8Array): string[] | undefined {
    const lines: string[] = []
    let from = 0
    for (let end = piece.indexOf(0x0a); end !== -1; end = piece.indexOf(0x0a, from)) {
      if (this.#bytes + end - from > this.#limit) return undefined
      lines.push(this.#take(piece.subarray(from, end)))
      from = end + 1
    }
    const rest = piece.subarray(from)
    if (this.#bytes + rest.length > this.#limit) return undefined
    // Copies, because a view would keep the whole piece in memory.
    if (rest.length > 0) this.#parts.push(rest.slice())
    this.#bytes += rest.length
    if (this.#parts.length > MAX_PARTS) this.#parts = [Buffer.concat(this.#parts)]
    return lines
  }

  #take(end: Uint8Array): string {
    const line = Buffer.concat([...this.#parts, end]).toString('utf8')
    this.#parts = []
    this.#bytes = 0
    return line.endsWith('\r') ? line.slice(0, -1) : line
  }
}
