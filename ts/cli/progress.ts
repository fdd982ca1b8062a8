import { controls, shown, type TerminalText, writeTo } from '../core/terminal.js'

/** Progress of long work, on a terminal only: one line that is rewritten, and removed at the end. */
export interface Progress {
  /** Replaces the line, at most ten times a second. */
  show(text: TerminalText): void
  /** Removes the line. Ending again does nothing. */
  end(): void
}

/** Work that takes less time shows no progress. */
const DELAY_MS = 300
const INTERVAL_MS = 100
export const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

export const noProgress: Progress = { show: () => undefined, end: () => undefined }

/** Begins to show progress on a terminal. On any other stream it shows nothing. */
export function startProgress(stream: NodeJS.WriteStream): Progress {
  if (stream.isTTY !== true || process.env['TERM'] === 'dumb') return noProgress
  let next = performance.now() + DELAY_MS
  let frame = 0
  let isShown = false
  return {
    show(text) {
      const now = performance.now()
      if (now < next) return
      next = now + INTERVAL_MS
      frame = (frame + 1) % FRAMES.length
      writeTo(
        stream,
        shown`${controls.clearLine}${FRAMES[frame] ?? ''} ${text.toString().slice(0, Math.max(10, (stream.columns || 80) - 3))}`,
      )
      isShown = true
    },
    end() {
      if (isShown) writeTo(stream, controls.clearLine)
      isShown = false
    },
  }
}
