/** Amounts as a person reads them, short enough for a column. */

/** `12B`, `1.2KB`, `200KB`. */
export function formatBytes(bytes: number | null): string {
  if (bytes === null) return '–'
  if (bytes < 1_000) return `${bytes}B`
  const units = ['KB', 'MB', 'GB', 'TB']
  let amount = bytes / 1_000
  let unit = 0
  // Not 1000KB: what rounds up to a thousand is one of the next unit.
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

/** `2026-11-20 14:33:59`, where the reader is. */
export function formatDate(ms: number): string {
  const date = new Date(ms)
  const day = [date.getFullYear(), twoDigits(date.getMonth() + 1), twoDigits(date.getDate())].join('-')
  return `${day} ${clock(date)}`
}

/** `14:33:59.758`, where the reader is. */
export function formatTime(ms: number): string {
  const date = new Date(ms)
  return `${clock(date)}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

function clock(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':')
}

function twoDigits(amount: number): string {
  return String(amount).padStart(2, '0')
}
