// The page of the documentation that has the figures of a run.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../scripts/setup/paths.mjs'
import { cells, HEADINGS } from './table.mjs'

const BEGIN = '<!-- figures: written by npm run bench -- --write -->'
const END = '<!-- end of what is written -->'

/** @param {{ rows: import('./verdicts.mjs').Row[], machine: object, started: Date, quick: boolean }} run */
export function figures({ rows, machine, started, quick }) {
  const { node, bun, platform, kernel, cpu, cpus, memoryMb, loadBefore, loadAfter } = machine
  const day = new Date(started).toISOString().slice(0, 10)
  const facts = [
    `Run on ${day}${quick ? ' with `--quick`: the numbers are rough' : ''}: Node ${node}, Bun ${bun ?? 'none'}, ${platform} ${kernel}, ${cpus} × ${cpu}, ${memoryMb} MB.`,
    `Load average ${loadBefore[0]} before and ${loadAfter[0]} after.`,
  ]
  // Indented operations go on with the row above, which Markdown would not show.
  const lines = rows.map((row) => cells(row).map((cell) => cell.trim().replaceAll('|', '\\|')))
  const table = [HEADINGS, HEADINGS.map(() => '---'), ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n')
  return `${facts.join(' ')}\n\n${table}`
}

/** Writes the figures into `docs/benchmarks.md`. */
export function writePage(run) {
  const file = join(root, 'docs/benchmarks.md')
  const page = readFileSync(file, 'utf8')
  const [before, after] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (before < 0 || after < before) throw new Error(`${file} has no place for the figures`)
  writeFileSync(file, `${page.slice(0, before + BEGIN.length)}\n\n${figures(run)}\n\n${page.slice(after)}`)
}
