/** The source of the page's calls: the data inside it, or its server. */
import { printable } from '../format.js'
import { type CallTexts, leftOutText, type ReportCall, type ReportData } from '../report-data.js'

/** The data of the page, and access to more. */
export interface PageSource {
  /** The journal's name. */
  name: string
  /** When the report was made, in milliseconds since 1970; `null` for a live page. */
  madeAtMs: number | null
  /** What the report leaves out, in a sentence; `null` if it has all calls. */
  leftOut: string | null
  /** Loads the arguments and the result of a call. */
  texts(row: number): Promise<CallTexts>
  /** Calls the listener with the calls so far, and again with new and ended calls. */
  subscribe(listener: (calls: ReportCall[]) => void, onProblem: (message: string | null) => void): void
}

/**
 * A value whose texts show every character that would act on a reader instead of being seen, such as a mark that turns the direction of a
 * line. Everything that a list, a heading or a tooltip says of a call comes through here; only the texts of a call, which have lines, do not.
 */
function shown<T>(value: T): T {
  if (typeof value === 'string') return printable(value) as T
  if (Array.isArray(value)) return value.map((one: unknown) => shown(one)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shown(one as unknown)])) as T
}

/** The source of this page. */
export async function openSource(): Promise<PageSource> {
  const packed = document.getElementById('data')?.textContent ?? ''
  return packed.trim() === '' ? liveSource() : fileSource(await unpacked(packed))
}

async function unpacked(base64: string): Promise<ReportData> {
  const bytes = Uint8Array.from(atob(base64.trim()), (character) => character.charCodeAt(0))
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))
  return (await new Response(stream).json()) as ReportData
}

function fileSource({ source, madeAtMs, calls, leftOut, texts }: ReportData): PageSource {
  return {
    name: printable(source),
    madeAtMs,
    leftOut: leftOut === null ? null : leftOutText(leftOut),
    texts: async (row) => texts[row] ?? noTexts,
    subscribe: (listener) => listener(shown(calls)),
  }
}

function liveSource(): PageSource {
  return {
    name: printable(document.title.replace(/ · toolwright$/u, '')),
    madeAtMs: null,
    leftOut: null,
    async texts(row) {
      const response = await fetch(`calls/${row}`)
      if (!response.ok) throw new Error(await response.text())
      return (await response.json()) as CallTexts
    },
    subscribe(listener, onProblem) {
      const events = new EventSource('events')
      events.addEventListener('open', () => onProblem(null))
      events.addEventListener('error', () => onProblem('The viewer has ended or cannot be reached. What is shown may be out of date.'))
      events.addEventListener('failure', (event) => onProblem(printable((JSON.parse(event.data as string) as { message: string }).message)))
      events.addEventListener('message', (event) => listener(shown((JSON.parse(event.data as string) as { calls: ReportCall[] }).calls)))
    },
  }
}

const noTexts: CallTexts = { input: null, output: null, error: null, notes: [], changed: null, diff: null, replacement: null }
