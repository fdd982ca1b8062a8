import { once } from 'node:events'
import { parseArgs } from 'node:util'
import type { Journal } from '../journal/journal.js'
import { openJournal } from '../journal/open-journal.js'
import { wholeRows } from '../journal/read-rows.js'
import { makeTimeline, wantsColours } from './calls/timeline.js'
import { jsonLine } from './calls/call-fields.js'
import { UsageError } from './program.js'

const HELP = `Usage: toolwright calls <journal> [options]

Shows the recorded calls of a journal, which is only read: file:runs.db, or a path. Below each run and
each task stand its calls: when, number, tool, status, duration, bytes of input → of output, and what
the call was about.

  --run <id>     only the calls of this run
  --follow       stays and shows what is recorded from now on, until ^C
  --json         one JSON object for each call, with everything that is recorded of it
  --help         this text

A status is success, error, refused (an error before anything was done), unknown (nobody knows how far
the call came), or started (it has not ended).

Ends with 1 if the journal cannot be read or has no such run.
`

interface Choice {
  location: string
  runId: string | undefined
  isFollowing: boolean
  isJson: boolean
}

/** `toolwright calls`. */
export async function calls(args: string[]): Promise<number> {
  const choice = choose(args)
  if (choice === 'help') {
    process.stdout.write(HELP)
    return 0
  }
  const journal = await openJournal(choice.location, { readOnly: true })
  const stop = stopper(choice)
  try {
    return await (choice.isFollowing ? follow(journal, choice, stop) : show(journal, choice, stop))
  } finally {
    await journal.close()
  }
}

/** Aborted when the reader of the output has seen enough: by ^C while following, or by closing the pipe. */
function stopper({ isFollowing }: Choice): AbortSignal {
  const controller = new AbortController()
  if (isFollowing) process.once('SIGINT', () => controller.abort())
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    controller.abort()
  })
  return controller.signal
}

async function show(journal: Journal, { runId, location, isJson }: Choice, stop: AbortSignal): Promise<number> {
  const runs = (await journal.listRuns()).filter((run) => runId === undefined || run.runId === runId)
  if (runs.length === 0 && runId !== undefined) {
    process.stderr.write(`toolwright: no run ${JSON.stringify(runId)} in ${location}\n`)
    return 1
  }
  const timeline = timelineOfTerminal()
  for (const run of runs) {
    if (stop.aborted) break
    // Outlines are enough for a timeline; a line of JSON gets its whole row when it is written.
    const recorded = await journal.listRun(run.runId, { outline: true })
    if (isJson) {
      for await (const batch of wholeRows(journal, recorded)) for (const call of batch) await print(jsonLine(call), stop)
    } else for (const lines of timeline.parts(recorded)) await print(lines, stop)
  }
  if (runs.length === 0 && !isJson) process.stdout.write(`No calls are recorded in ${location}.\n`)
  return 0
}

/** Waits until the reader has taken the output, which is in memory until then. */
async function print(text: string, stop: AbortSignal): Promise<void> {
  if (stop.aborted || process.stdout.write(text)) return
  await once(process.stdout, 'drain', { signal: stop }).catch(() => undefined)
}

async function follow(journal: Journal, { runId, isJson }: Choice, stop: AbortSignal): Promise<number> {
  const timeline = timelineOfTerminal()
  try {
    for await (const call of journal.tail({ runId, signal: stop })) {
      await print(isJson ? jsonLine(call) : timeline.next(call), stop)
    }
  } catch (error) {
    if (!stop.aborted) throw error
  }
  return 0
}

function timelineOfTerminal() {
  const isColoured = wantsColours(process.stdout, process.env)
  // A terminal that does not know its size has 0 columns.
  return makeTimeline({ isColoured, columns: process.stdout.columns || undefined })
}

function choose(args: string[]): Choice | 'help' {
  const { values, positionals } = parse(args)
  if (values.help === true) return 'help'
  const [location, ...others] = positionals
  if (location === undefined) throw new UsageError('calls: name a journal')
  if (others.length > 0) throw new UsageError('calls: name one journal')
  if (/^:?memory:$/u.test(location)) {
    throw new UsageError(`calls: only the process that keeps ${location} can read it`)
  }
  return { location, runId: values.run, isFollowing: values.follow === true, isJson: values.json === true }
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        run: { type: 'string' },
        follow: { type: 'boolean' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw UsageError.of(error)
  }
}
