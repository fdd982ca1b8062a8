/** @typedef {import('./verdicts.mjs').Row} Row */

export const HEADINGS = ['operation', 'must', 'target', 'measured (minima)', 'ours', 'smithers', 'others (median)', 'verdict']

/** Three digits that mean something. */
const digits = (number) => {
  if (number >= 100) return number.toFixed(0)
  if (number >= 10) return number.toFixed(1)
  return number.toFixed(number >= 1 ? 2 : 3)
}
const goalText = (goal, { unit }) => {
  if (goal === null) return '–'
  if (unit === 'times') return `<= ${goal}x`
  return unit === 'ratio' ? `${goal}x` : `<= ${goal} ms`
}
const numberText = (number, unit) => (unit === 'ms' ? `${digits(number)} ms` : `${digits(number)}x`)
const measuredText = ({ measured, measuredByMinima, unit }) =>
  measured === null ? '–' : `${numberText(measured, unit)} (${numberText(measuredByMinima, unit)})`
/** Median / minimum, and where eight of ten samples lie. */
const summaryText = (summary) =>
  summary === undefined ? '–' : `${digits(summary.median)} / ${digits(summary.min)} (${digits(summary.p10)}–${digits(summary.p90)})`

/** @param {Row} row */
export function cells(row) {
  const { ours, smithers, ...others } = row.contenders
  return [
    row.operation,
    goalText(row.must, row),
    goalText(row.target, row),
    measuredText(row),
    summaryText(ours),
    row.toOriginal === undefined ? summaryText(smithers) : `${summaryText(smithers)}, ${digits(row.toOriginal)}x`,
    Object.entries(others)
      .map(([name, { median }]) => `${name} ${digits(median)}`)
      .join(', ') || '–',
    row.note === '' ? row.verdict : `${row.verdict} (${row.note})`,
  ]
}

/** @param {Row[]} rows */
export function formatTable(rows) {
  const lines = [HEADINGS, ...rows.map(cells)]
  const widths = HEADINGS.map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  const text = lines.map((line) => line.map((cell, column) => (column === line.length - 1 ? cell : cell.padEnd(widths[column]))).join('  '))
  text.splice(
    1,
    0,
    widths
      .slice(0, -1)
      .map((width) => '-'.repeat(width))
      .join('  '),
  )
  return text.join('\n')
}

/** What the least native addon reaches where the row was measured. */
const floorText = ({ atFloor, must, unit }) => {
  if (atFloor === undefined || unit !== 'ratio') return ''
  return `; the floor is at ${digits(atFloor)}x${atFloor < must ? ', below it as well' : ''}`
}

/** @param {Row[]} rows */
export function formatSum(rows) {
  const count = (verdict) => rows.filter((row) => row.verdict === verdict).length
  const missed = rows.filter(({ verdict }) => verdict === 'BELOW MUST')
  const lines = missed.map(
    (row) => `BELOW MUST  ${row.operation.trim()}: ${measuredText(row)}, must ${goalText(row.must, row)}${floorText(row)}`,
  )
  lines.push(
    `${count('ok')} ok, ${count('below target')} below target, ${missed.length} below must, ` +
      `${count('not yet')} not yet, ${count('FAILED')} failed`,
  )
  return lines.join('\n')
}
