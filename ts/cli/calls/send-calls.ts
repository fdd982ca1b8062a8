import type { Journal } from '../../journal/journal.js'
import { callSpan, type Contents, runSpan } from '../../otel/journal-spans.js'
import { SendError, SpanSender, type SpanTarget } from '../../otel/send-spans.js'
import { print, shown, shownJson, tell } from '../../core/terminal.js'
import { outlinesOfRun, readableRows, UnreadCalls } from '../../report/readable-calls.js'
import { chosenRuns, UsageError, version } from '../program.js'
import { startProgress } from '../progress.js'

/** The options of `calls --otlp`. */
export interface SendChoice {
  location: string
  runId: string | undefined
  isJson: boolean
  contents: Contents
  target: SpanTarget
}

/** The collector that a command line and the environment name. @throws {UsageError} */
export function spanTarget(address: string, env: NodeJS.ProcessEnv): SpanTarget {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined || !/^https?:$/u.test(url.protocol)) {
    throw new UsageError(shown`calls: --otlp takes an address such as http://localhost:4318, not ${shownJson(address)}`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new UsageError('calls: --otlp takes no password; set OTEL_EXPORTER_OTLP_HEADERS, as in authorization=Basic%20…')
  }
  if (url.pathname === '/') url.pathname = '/v1/traces'
  const headers = { ...headersOf(env['OTEL_EXPORTER_OTLP_HEADERS']), ...headersOf(env['OTEL_EXPORTER_OTLP_TRACES_HEADERS']) }
  return { url, headers, service: env['OTEL_SERVICE_NAME'] || 'toolwright', version: version() }
}

/** Parses `name=value,name=value`. Values are percent-encoded. */
function headersOf(list: string | undefined): Record<string, string> {
  const headers = new Headers()
  for (const pair of (list ?? '').split(',')) {
    const [name = '', ...value] = pair.split('=')
    if (name.trim() === '') continue
    try {
      headers.set(name.trim(), decodeURIComponent(value.join('=').trim()))
    } catch {
      throw new UsageError(shown`calls: the environment's OTLP headers have no valid value for ${shownJson(name.trim())}`)
    }
  }
  return Object.fromEntries(headers)
}

/** Sends the calls of a journal to a collector. */
export async function sendCalls(journal: Journal, { location, runId, isJson, contents, target }: SendChoice): Promise<number> {
  const runs = await chosenRuns(journal, runId, location)
  const sender = new SpanSender(target)
  const progress = startProgress(process.stderr)
  const all = runs.reduce((sum, { calls }) => sum + calls, 0)
  let running = 0
  const unread = new UnreadCalls()
  try {
    for (const run of runs) {
      await sender.add(runSpan(run))
      const outlines = await outlinesOfRun(journal, run, unread)
      for await (const batch of readableRows(journal, outlines, unread)) {
        for (const span of unread.shown(batch, (row) => callSpan(run, row, contents))) {
          if (span === undefined) running += 1
          else await sender.add(span)
        }
        progress.show(shown`sending calls: ${sender.sent} of ${all}`)
      }
    }
    await sender.flush()
  } catch (error) {
    if (!(error instanceof SendError)) throw error
    progress.end()
    tell(shown`toolwright: calls: ${error.message}; ${sender.sent} spans were sent before\n`)
    return 1
  } finally {
    progress.end()
  }
  const sent = { url: target.url.href, runs: runs.length, spans: sender.sent, batches: sender.batches, running }
  for (const what of unread.lines) tell(shown`toolwright: calls: ${what}\n`)
  if (isJson) print(shown`${shownJson(sent)}\n`)
  else print(shown`${countOf(sent.spans, 'span')} of ${countOf(sent.runs, 'run')} sent to ${sent.url}${leftOut(running)}\n`)
  return unread.lines.length === 0 ? 0 : 1
}

const countOf = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`
const leftOut = (running: number): string => (running === 0 ? '' : `; ${countOf(running, 'call')} without an end left out`)
