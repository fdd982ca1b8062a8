/** Formats amounts, times and texts for a terminal or the page, short enough for a column. */
export { printable } from '../core/printable.js'

/** `12B`, `1.2KB`, `200KB`. */
export function formatBytes(bytes: number | null): string {
  if (bytes === null) return '–'
  if (bytes < 1_000) return `${bytes}B`
  const units = ['KB', 'MB', 'GB', 'TB']
  let amount = bytes / 1_000
  let unit = 0
  // An amount that rounds up to 1,000 moves to the next unit.
  while (amount >= 999.5 && unit < units.length - 1) {
    amount /= 1_000
    unit += 1
  }
  return `${amount < 9.95 ? amount.toFixed(1) : Math.round(amount)}${units[unit]}`
}

/** `15ms`, `1.20s`, `3m05s`, `2h05m`. */
export function formatDuration(ms: number | null): string {
  if (ms === null) return '–'
  if (ms < 1_000) return `${Math.round(ms)}ms`
  if (ms < 59_995) return `${(ms / 1_000).toFixed(2)}s`
  const seconds = Math.round(ms / 1_000)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m${twoDigits(seconds % 60)}s`
  return `${Math.floor(minutes / 60)}h${twoDigits(minutes % 60)}m`
}

/** `2026-11-20 14:33:59`, in the reader's time zone, by the Swedish locale. */
export const formatDate = (ms: number): string => new Date(ms).toLocaleString('sv-SE')

/** `14:33:59.758`, in the reader's time zone. */
export function formatTime(ms: number): string {
  const date = new Date(ms)
  return `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

function twoDigits(amount: number): string {
  return String(amount).padStart(2, '0')
}

/** At most `length` characters. If some are left out, the last is an ellipsis. */
export function cut(text: string, length: number): string {
  // A character has at most two code units, so the rest of a long text need not be split.
  const characters = Array.from(text.slice(0, 2 * length + 2))
  return characters.length <= length ? text : `${characters.slice(0, Math.max(0, length - 1)).join('')}…`
}
