/** A server may write byte by byte. */
const MAX_PARTS = 4_096

/** Lines of a stream, of which none is longer than a limit. */
export class MessageLines {
  readonly #limit: number
  #parts: Uint8Array[] = []
  #bytes = 0

  constructor(limitBytes: number) {
    this.#limit = limitBytes
  }

  /**
   * The lines that a piece of the stream completes, without their ends. What is behind the last one waits for more.
   *
   * @returns nothing if a line is too long: all that came before it in this piece is lost with it.
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
    // A copy: a view would keep the whole piece.
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
