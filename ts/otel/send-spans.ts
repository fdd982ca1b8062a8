/** Sends spans to a collector: OTLP over HTTP in JSON, in batches, with retries for temporary failures. */
import { setTimeout as pause } from 'node:timers/promises'
import { type OtlpSpan, otlpAttributes } from './journal-spans.js'

/** The collector, and the resource of the spans. */
export interface SpanTarget {
  url: URL
  headers: Readonly<Record<string, string>>
  /** `service.name`. */
  service: string
  /** The version of this package. */
  version: string
}

/** The error of a collector that did not take the spans. */
export class SendError extends Error {
  override readonly name = 'SendError'
}

/** The most attempts for a batch, the first pause, and the time limit of one request, in milliseconds. */
const ATTEMPTS = 5
const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 30_000
const REQUEST_MS = 10_000
/** The status codes after which OTLP allows a retry. */
const TEMPORARY: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** The most spans of a request, and its approximate limit in characters. */
const MAX_SPANS = 500
const MAX_CHARACTERS = 2_000_000

/** Collects spans, and sends each batch when it is full. */
export class SpanSender {
  sent = 0
  batches = 0
  readonly #target: SpanTarget
  readonly #firstPauseMs: number
  #batch: string[] = []
  #characters = 0

  constructor(target: SpanTarget, firstPauseMs = FIRST_PAUSE_MS) {
    this.#target = target
    this.#firstPauseMs = firstPauseMs
  }

  /** Adds a span. @throws {SendError} if the collector does not take a batch. */
  async add(span: OtlpSpan): Promise<void> {
    const json = JSON.stringify(span)
    if (this.#batch.length > 0 && this.#characters + json.length > MAX_CHARACTERS) await this.flush()
    this.#batch.push(json)
    this.#characters += json.length
    if (this.#batch.length >= MAX_SPANS) await this.flush()
  }

  /** Sends the last batch. @throws {SendError} if the collector does not take it. */
  async flush(): Promise<void> {
    const spans = this.#batch
    if (spans.length === 0) return
    this.#batch = []
    this.#characters = 0
    await this.#send(spans)
    this.sent += spans.length
    this.batches += 1
  }

  async #send(spans: readonly string[]): Promise<void> {
    const { service, version } = this.#target
    const resource = JSON.stringify({ attributes: otlpAttributes({ 'service.name': service }) })
    const scope = JSON.stringify({ name: 'toolwright', version })
    const body = `{"resourceSpans":[{"resource":${resource},"scopeSpans":[{"scope":${scope},"spans":[${spans.join(',')}]}]}]}`
    let pauseMs = this.#firstPauseMs
    for (let attempt = 1; ; attempt += 1) {
      const failure = await this.#post(body)
      if (failure === undefined) return
      const { text, isTemporary, retryAfterMs } = failure
      if (!isTemporary || attempt === ATTEMPTS) throw new SendError(attempt > 1 ? `${text} (after ${attempt} attempts)` : text)
      await pause(Math.min(MAX_PAUSE_MS, retryAfterMs ?? pauseMs * (0.75 + Math.random() / 2)))
      pauseMs *= 2
    }
  }

  /** Sends one request. @returns the failure; `undefined` if the collector took all spans. */
  async #post(body: string): Promise<{ text: string; isTemporary: boolean; retryAfterMs?: number | undefined } | undefined> {
    const { url, headers } = this.#target
    let response: Response
    let answer: string
    try {
      response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        // Does not follow redirects, because another address must not get the credentials.
        redirect: 'error',
        signal: AbortSignal.timeout(REQUEST_MS),
      })
      answer = await response.text()
    } catch (error) {
      const { message, cause } = error as Error
      const why = cause instanceof Error && cause.message !== '' ? cause.message : message
      return { text: `${url.origin} cannot be reached: ${why}`, isTemporary: true }
    }
    if (response.ok) return partialFailure(answer)
    const detail = answer.trim().slice(0, 300)
    const text = `${url.origin}${url.pathname} answered ${response.status}${detail === '' ? '' : `: ${detail}`}`
    return { text, isTemporary: TEMPORARY.has(response.status), retryAfterMs: retryAfter(response.headers.get('retry-after')) }
  }
}

/** The spans that a collector refused in a successful response. They must not be sent again. */
function partialFailure(answer: string): { text: string; isTemporary: boolean } | undefined {
  try {
    const { partialSuccess } = JSON.parse(answer) as { partialSuccess?: { rejectedSpans?: unknown; errorMessage?: unknown } }
    const count = Number(partialSuccess?.rejectedSpans ?? 0)
    if (count > 0)
      return { text: `the collector refused ${count} spans: ${String(partialSuccess?.errorMessage ?? '')}`, isTemporary: false }
  } catch {
    // A response that is not JSON refuses no spans.
  }
  return undefined
}

/** Parses `Retry-After`: seconds, or a date. */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined
  const ms = /^\d+$/u.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}
