import { once } from 'node:events'
import type { Journal } from '../journal/journal.js'
import { openJournal } from '../postgres/open-journal.js'
import { columnsOf, joined, print as printAtOnce, shown, tell, type TerminalText } from '../core/terminal.js'
import { outlinesOfRun, readableRows, UnreadCalls } from '../report/readable-calls.js'
import { makeTimeline, wantsColours } from './calls/timeline.js'
import { sendCalls, spanTarget } from './calls/send-calls.js'
import { noProgress, startProgress } from './progress.js'
import { RunningCalls } from './calls/running-calls.js'
import { settle } from './calls/settle.js'
import { jsonLine } from '../report/call-fields.js'
import { chosenRuns, journalArgument, parseCommandLine, shownLocation, UsageError } from './program.js'
import type { SpanTarget } from '../otel/send-spans.js'

const HELP = shown`Usage: toolwright calls <journal> [options]
       toolwright calls settle <journal> [options]   (see: toolwright calls settle --help)

Shows the recorded calls of a journal: file:runs.db, a path, or postgres://user@host/database. The journal is not
changed. Each run and each task lists its calls; a narrow terminal shows less of each.

  --run <id>     show only the calls of this run
  --follow       show calls as they come, until Ctrl-C; on a terminal, running calls stand at the bottom
  --json         print one JSON object for each call, with the whole record
  --otlp <url>   send the calls as spans to a collector of OpenTelemetry instead of showing them:
                 http://localhost:4318, or the full address of a service; a trace for each run
  --inputs       put the arguments of calls into the spans
  --outputs      put the results of calls into the spans
  --help         print this text

A status is success, error, refused (an error before anything was done), unknown (the call may have done
everything, a part, or nothing), or started (it has not ended; a line says if
its process is gone).

OTEL_EXPORTER_OTLP_HEADERS sets headers for the collector, OTEL_SERVICE_NAME the name of the service.
Sending calls again gives the same ids.

The exit code is 1 if the journal or one of its calls cannot be read, if it has no such run, or if the
collector does not take the spans. A call that cannot be read is named, and left out.
`

const options = {
  run: { type: 'string' },
  follow: { type: 'boolean' },
  json: { type: 'boolean' },
  otlp: { type: 'string' },
  inputs: { type: 'boolean' },
  outputs: { type: 'boolean' },
} as const

interface Choice {
  location: string
  runId: string | undefined
  isFollowing: boolean
  isJson: boolean
  /** The collector that gets the calls. */
  target: SpanTarget | undefined
  contents: { inputs: boolean; outputs: boolean }
}

/** `toolwright calls`. */
export async function calls(args: string[]): Promise<number> {
  if (args[0] === 'settle') return settle(args.slice(1))
  const choice = choose(args)
  if (choice === undefined) return 0
  const journal = await openJournal(choice.location, { readOnly: true })
  const stop = stopper(choice)
  try {
    const { target } = choice
    if (target !== undefined) return await sendCalls(journal, { ...choice, target })
    return await (choice.isFollowing ? follow(journal, choice, stop) : show(journal, choice, stop))
  } finally {
    await journal.close()
  }
}

/** Aborts when the reader of the output stops: by Ctrl-C while following, or by closing the pipe. */
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
  const runs = await chosenRuns(journal, runId, location)
  const timeline = timelineOfTerminal(new Set(isJson ? [] : await journal.leftOpen?.()))
  // Calls that go to a terminal are their own progress.
  const progress = process.stdout.isTTY ? noProgress : startProgress(process.stderr)
  const all = runs.reduce((sum, { calls: count }) => sum + count, 0)
  let done = 0
  const unread = new UnreadCalls()
  try {
    for (const run of runs) {
      if (stop.aborted) break
      // A timeline needs only outlines. The whole row of a JSON line is read when the line is written.
      const recorded = await outlinesOfRun(journal, run, unread)
      if (isJson) {
        for await (const batch of readableRows(journal, recorded, unread)) {
          for (const line of unread.shown(batch, jsonLine)) await print(line, stop)
          progress.show(shown`writing calls: ${(done += batch.length)} of ${all}`)
        }
        continue
      }
      for (const lines of timeline.parts(recorded, (call, error) => unread.addCall(call, error))) await print(lines, stop)
      progress.show(shown`writing calls: ${(done += recorded.length)} of ${all}`)
    }
  } finally {
    progress.end()
  }
  if (runs.length === 0 && !isJson) printAtOnce(shown`No calls are recorded in ${shownLocation(journal, location)}.\n`)
  return toldUnread(unread)
}

/** Waits until the reader has taken the output, which is in memory until then. */
async function print(text: TerminalText, stop: AbortSignal): Promise<void> {
  if (stop.aborted || printAtOnce(text)) return
  await once(process.stdout, 'drain', { signal: stop }).catch(() => undefined)
}

async function follow(journal: Journal, { runId, isJson }: Choice, stop: AbortSignal): Promise<number> {
  const timeline = timelineOfTerminal()
  const unread = new UnreadCalls()
  // On a terminal, running calls are redrawn below the others, and printed when they have ended.
  using running = isJson || !process.stdout.isTTY || process.env['TERM'] === 'dumb' ? undefined : new RunningCalls(process.stdout)
  try {
    for await (const call of journal.tail({ runId, signal: stop })) {
      if (running?.take(call) === false) continue
      running?.clear()
      for (const text of unread.shown([call], (one) => (isJson ? jsonLine(one) : timeline.next(one)))) await print(text, stop)
    }
  } catch (error) {
    if (!stop.aborted) throw error
  }
  running?.clear()
  printAtOnce(joined(unread.shown(running?.rest ?? [], (call) => timeline.next(call))))
  return toldUnread(unread)
}

/** Names what was left out. @returns the exit code */
function toldUnread({ lines }: UnreadCalls): number {
  for (const line of lines) tell(shown`toolwright: calls: ${line}\n`)
  return lines.length === 0 ? 0 : 1
}

function timelineOfTerminal(leftOpen?: ReadonlySet<number>) {
  const isColoured = wantsColours(process.stdout, process.env)
  return makeTimeline({ isColoured, columns: columnsOf(process.stdout), ...(leftOpen && { leftOpen }) })
}

function choose(args: string[]): Choice | undefined {
  const line = parseCommandLine(HELP, { args, allowPositionals: true, options })
  if (line === undefined) return undefined
  const { values, positionals } = line
  const location = journalArgument('calls', positionals)
  const { otlp, follow: isFollowing = false, json: isJson = false, inputs = false, outputs = false } = values
  if (otlp !== undefined && isFollowing) throw new UsageError('calls: --otlp sends what is recorded; leave --follow out')
  if (otlp === undefined && (inputs || outputs)) throw new UsageError('calls: --inputs and --outputs belong to --otlp')
  const target = otlp === undefined ? undefined : spanTarget(otlp, process.env)
  return { location, runId: values.run, isFollowing, isJson, target, contents: { inputs, outputs } }
}
