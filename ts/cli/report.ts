import { rm, writeFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { openJournal } from '../postgres/open-journal.js'
import { packReport } from '../report/make-report.js'
import { pageHtml } from '../report/page-html.js'
import { leftOutText } from '../report/report-data.js'
import { formatBytes } from '../report/format.js'
import { print, printDocument, shown, shownJson, tell } from '../core/terminal.js'
import { printable } from '../core/printable.js'
import { startProgress } from './progress.js'
import { withCheckpoints } from './calls/call-checkpoints.js'
import type { CallDiffs } from '../report/checkpoint-diffs.js'
import { chosenRuns, journalArgument, parseCommandLine, shownLocation, UsageError } from './program.js'

const HELP = shown`Usage: toolwright report <journal> [options]

Writes one HTML page that shows the recorded calls of a journal (file:runs.db, or a path): a timeline, the
arguments and results of each call, failures, retries, totals. The page needs no network and no server,
and opens without toolwright. The journal is not changed.

  -o, --output <file>  the page (default: the journal's name with .html, in this directory); - for stdout
  --run <id>           show only the calls of this run
  --dir <path>         show what calls have changed, from the checkpoints of this directory
  --store <path>       with --dir: the store of these checkpoints (default: the user's own for the directory)
  --json               print the path, the number of calls and the size as JSON
  --help               print this text

Long texts are cut to keep the page below 5 MB, and the page says where. A page has the latest 20,000 calls,
which need more than that, and says how many earlier ones it leaves out: choose one run with --run.

The exit code is 1 if the journal or one of its calls cannot be read, if it has no such run, or if the page
cannot be written. A call that cannot be read is named, and left out.
`

const options = {
  output: { type: 'string', short: 'o' },
  run: { type: 'string' },
  dir: { type: 'string' },
  store: { type: 'string' },
  json: { type: 'boolean' },
} as const

export async function report(args: string[]): Promise<number> {
  const line = parseCommandLine(HELP, { args, allowPositionals: true, options })
  if (line === undefined) return 0
  const { values, positionals } = line
  const location = journalArgument('report', positionals)
  const journal = await openJournal(location, { readOnly: true })
  const source = basename(shownLocation(journal, location).replace(/^file:/u, ''))
  const output = values.output ?? `${source.replace(/\.(?:db|sqlite3?)$/u, '')}.html`
  const progress = startProgress(process.stderr)
  try {
    if (values.run !== undefined) await chosenRuns(journal, values.run, location)
    const onProgress = (done: number, all: number): void => progress.show(shown`reading calls: ${done} of ${all}`)
    const pack = (diffs?: CallDiffs) => packReport(journal, { source, runId: values.run, onProgress, diffs })
    const { base64, calls, isCut, leftOut, unread } = await withCheckpoints('report', values, pack)
    const page = pageHtml({ title: `${printable(source)} · toolwright`, base64 })
    progress.end()
    if (output === '-') printDocument(page)
    else await writeWhole(output, page)
    const bytes = Buffer.byteLength(page)
    if (bytes > MAX_PAGE_BYTES) tell(shown`toolwright: ${calls} calls make a page of ${formatBytes(bytes)}; --run takes one run\n`)
    if (leftOut !== null) tell(shown`toolwright: report: ${leftOutText(leftOut)}\n`)
    if (values.json === true && output !== '-') {
      print(shown`${shownJson({ path: resolve(output), calls, bytes, isCut, leftOut })}\n`)
    } else if (output !== '-') {
      const cut = isCut ? '; long texts were cut' : ''
      print(shown`${output}: ${calls} ${calls === 1 ? 'call' : 'calls'}, ${formatBytes(bytes)}${cut}\n`)
    }
    for (const what of unread) tell(shown`toolwright: report: ${what}\n`)
    return unread.length === 0 ? 0 : 1
  } finally {
    progress.end()
    await journal.close()
  }
}

/** Larger pages open slowly, and many services refuse them. */
const MAX_PAGE_BYTES = 5_000_000

/** Writes the page, and removes a part of it after a failure. */
async function writeWhole(path: string, page: string): Promise<void> {
  try {
    await writeFile(path, page)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EIO') await rm(path, { force: true }).catch(() => undefined)
    throw new UsageError(`report: the page was not written: ${message}`, 1)
  }
}
