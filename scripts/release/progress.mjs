// Rows of a rehearsal: each is printed when it begins and ends. What has passed is kept in a file until the rehearsal has ended, so that one
// that was interrupted goes on where it was.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

/** A row that cannot be had here, with the reason. */
export class Skipped extends Error {
  name = 'Skipped'
}

const say = (text) => process.stdout.write(`rehearse  ${text}\n`)
const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`

/** `key`: what is rehearsed. Results for another one do not count. */
export function startRows(file, key) {
  const kept = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  const passed = kept.key === key ? kept.passed : {}
  const rows = []
  const add = (title, verdict, detail) => rows.push({ title, verdict, detail })

  /** Runs a row; a text that it returns is shown. Returns whether it passed. */
  async function row(title, work) {
    if (passed[title] !== undefined) {
      say(`${title} … ok before${passed[title] === '' ? '' : `: ${passed[title]}`}`)
      add(title, 'passed', passed[title])
      return true
    }
    const start = performance.now()
    try {
      const detail = (await work()) ?? ''
      say(`${title} … ok ${seconds(start)}${detail === '' ? '' : `: ${detail}`}`)
      add(title, 'passed', detail)
      passed[title] = detail
      writeFileSync(file, JSON.stringify({ key, passed }))
      return true
    } catch (error) {
      const verdict = error instanceof Skipped ? 'skipped' : 'failed'
      say(`${title} … ${verdict === 'skipped' ? 'skipped: ' : `FAILED ${seconds(start)}\n    `}${error.message.replaceAll('\n', '\n    ')}`)
      add(title, verdict, error.message.split('\n')[0])
      return false
    }
  }

  /** Prints the table and the counts. Returns whether nothing failed. */
  function end() {
    const width = Math.max(...rows.map(({ title }) => title.length))
    say('')
    for (const { title, verdict, detail } of rows) say(`${title.padEnd(width)}  ${verdict.padEnd(7)}  ${detail}`.trimEnd())
    const count = (verdict) => rows.filter((one) => one.verdict === verdict).length
    process.stdout.write(`\n${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped\n`)
    if (count('failed') === 0) rmSync(file, { force: true })
    return count('failed') === 0 && count('passed') > 0
  }
  return { row, end, say, isKept: (title) => passed[title] !== undefined }
}
