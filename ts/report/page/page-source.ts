/** The source of the page's calls: the data inside it, or its server. */
import type { CallTexts, ReportCall, ReportData } from '../report-data.js'

/** The data of the page, and access to more. */
export interface PageSource {
  /** The journal's name. */
  name: string
  /** When the report was made, in milliseconds since 1970; `null` for a live page. */
  madeAtMs: number | null
  /** Loads the arguments and the result of a call. */
  texts(row: number): Promise<CallTexts>
  /** Calls the listener with the calls so far, and again with new and ended calls. */
  subscribe(listener: (calls: ReportCall[]) => void, onProblem: (message: string | null) => void): void
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

function fileSource({ source, madeAtMs, calls, texts }: ReportData): PageSource {
  return {
    name: source,
    madeAtMs,
    texts: async (row) => texts[row] ?? noTexts,
    subscribe: (listener) => listener(calls),
  }
}

function liveSource(): PageSource {
  return {
    name: document.title.replace(/ · toolwright$/u, ''),
    madeAtMs: null,
    async texts(row) {
      const response = await fetch(`calls/${row}`)
      if (!response.ok) throw new Error(await response.text())
      return (await response.json()) as CallTexts
    },
    subscribe(listener, onProblem) {
      const events = new EventSource('events')
      events.addEventListener('open', () => onProblem(null))
      events.addEventListener('error', () => onProblem('The viewer has ended or cannot be reached. What is shown may be out of date.'))
      events.addEventListener('failure', (event) => onProblem((JSON.parse(event.data as string) as { message: string }).message))
      events.addEventListener('message', (event) => listener((JSON.parse(event.data as string) as { calls: ReportCall[] }).calls))
    },
  }
}

const noTexts: CallTexts = { input: null, output: null, error: null, notes: [], diff: null, replacement: null }
