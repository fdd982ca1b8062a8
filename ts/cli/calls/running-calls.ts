import type { ToolCallRow } from '../../journal/journal-store.js'
import { shownTarget } from '../../report/shown-target.js'
import { formatDuration } from '../../report/format.js'
import { cutToWidth } from '../../core/columns.js'
import { printable } from '../../core/printable.js'
import { controls, joined, shown, writeTo } from '../../core/terminal.js'
import { FRAMES } from '../progress.js'

/** The most running calls that are shown. The last line has the number of the others. */
const MAX_SHOWN = 6
const INTERVAL_MS = 100

/** The running calls, below the printed lines: one line each, with a spinner and the time so far. */
export class RunningCalls implements Disposable {
  readonly #stream: NodeJS.WriteStream
  readonly #calls = new Map<number, ToolCallRow>()
  readonly #timer: NodeJS.Timeout
  #lines = 0
  #frame = 0

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
    this.#timer = setInterval(() => this.#draw(), INTERVAL_MS)
    this.#timer.unref()
  }

  /** Takes the row of a call. @returns whether the call has ended and has to be printed. */
  take(call: ToolCallRow): boolean {
    if (call.status !== 'started') {
      this.#calls.delete(call.row)
      return true
    }
    this.#calls.set(call.row, call)
    return false
  }

  /** The calls that have not ended. */
  get rest(): ToolCallRow[] {
    return [...this.#calls.values()]
  }

  /** Removes the lines to make room for output. The next tick draws them again. */
  clear(): void {
    if (this.#lines > 0) writeTo(this.#stream, controls.clearAbove(this.#lines))
    this.#lines = 0
  }

  #draw(): void {
    this.clear()
    if (this.#calls.size === 0) return
    this.#frame = (this.#frame + 1) % FRAMES.length
    const width = Math.max(20, (this.#stream.columns || 80) - 1)
    const lines = [...this.#calls.values()].slice(0, MAX_SHOWN).map((call) => {
      const elapsed = formatDuration(Math.max(0, Date.now() - call.startedAtMs))
      return cutToWidth(printable(`${FRAMES[this.#frame]} ${call.toolName} ${elapsed} ${shownTarget(call)}`), width)
    })
    const others = this.#calls.size - lines.length
    if (others > 0) lines.push(`  and ${others} more`)
    writeTo(this.#stream, shown`${joined(lines, shown`\n`)}\n`)
    this.#lines = lines.length
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    this.clear()
  }
}
