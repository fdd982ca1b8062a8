import { randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { listenLocally } from '../core/local-server.js'
import type { Journal } from '../journal/journal.js'
import { callTexts } from './call-texts.js'
import type { CallDiffs } from './checkpoint-diffs.js'
import { reportCall } from './make-report.js'
import { contentSecurityPolicy, pageHtml } from './page-html.js'
import { UnreadCalls } from './readable-calls.js'
import type { ReportCall } from './report-data.js'

/** Options of {@link startViewServer}. */
export interface ViewOptions {
  source: string
  /** Only this run. @default all */
  runId?: string | undefined
  /** What calls have changed, where checkpoints have it. */
  diffs?: CallDiffs | undefined
  /** @default 0: any free port */
  port?: number | undefined
}

/** A running viewer. */
export interface ViewServer {
  /** The address of the page. It holds the token that every request needs. */
  url: string
  close(): Promise<void>
}

/** The most characters of one text that the page gets. */
const MAX_TEXT = 2_000_000
/** How long calls are collected before they are sent, in milliseconds, and the most calls of one message. */
const BATCH_MS = 50
const MAX_BATCH = 500

/**
 * Serves the page of a journal to this machine, and sends it calls as they are recorded. The server listens on the loopback
 * address only. A request needs the token of the address and a host name of this machine, so no other page and no other user
 * can read the journal.
 */
export async function startViewServer(journal: Journal, { source, runId, diffs, port = 0 }: ViewOptions): Promise<ViewServer> {
  const token = randomBytes(24).toString('base64url')
  const stop = new AbortController()
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [requested = '', ...path] = (request.url ?? '').slice(1).split('/')
    if (!isOwnHost(request, server.port)) return refuse(response, 421, 'This address is not served here.')
    if (!isSame(requested, token)) return refuse(response, 404, 'Open the address that `toolwright view` printed.')
    if (request.method !== 'GET') return refuse(response, 405, 'Only GET is answered.')
    const [name = '', row = ''] = path
    if (path.length === 1 && name === '')
      return send(response, 'text/html; charset=utf-8', pageHtml({ title: `${source} · toolwright`, base64: '' }))
    if (path.length === 1 && name === 'events') return events(response)
    if (path.length === 2 && name === 'calls' && /^\d{1,15}$/u.test(row)) {
      const [existing] = await journal.rows([Number(row)])
      if (existing === undefined) return refuse(response, 404, 'There is no such call.')
      return send(response, 'application/json', JSON.stringify(callTexts(existing, MAX_TEXT, await diffs?.of(existing))))
    }
    return refuse(response, 404, 'There is no such page.')
  }

  async function events(response: ServerResponse): Promise<void> {
    response.writeHead(200, { ...headers('text/event-stream'), connection: 'keep-alive' })
    response.write(`event: source\ndata: ${JSON.stringify({ source })}\n\n`)
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, stop.signal])
    const unread = new UnreadCalls()
    let batch: ReportCall[] = []
    let sending: Promise<void> | undefined
    const flush = async (): Promise<void> => {
      await setTimeout(BATCH_MS, undefined, { signal })
      const calls = batch
      batch = []
      sending = undefined
      if (!response.write(`data: ${JSON.stringify({ calls })}\n\n`)) await once(response, 'drain', { signal })
    }
    try {
      for await (const row of journal.tail({ runId, signal })) {
        const diff = await diffs?.of(row)
        batch.push(...unread.shown([row], (one) => reportCall(one, diff)))
        // The page shows the rest; the lines would only grow.
        unread.lines.length = 0
        sending ??= flush()
        sending.catch(() => undefined)
        if (batch.length >= MAX_BATCH) await sending
      }
    } catch (error) {
      // Sends the earlier calls first.
      await sending?.catch(() => undefined)
      if (!signal.aborted) response.write(`event: failure\ndata: ${JSON.stringify({ message: String(error) })}\n\n`)
    }
    response.end()
  }

  // An error of the journal that nobody foresaw reaches the page as an answer; the terminal has nobody who waits for it.
  const server = await listenLocally(port, { answer, fail: refuse, onError: () => undefined })
  return {
    url: `http://127.0.0.1:${server.port}/${token}/`,
    async close() {
      stop.abort()
      await server.close()
    },
  }
}

const headers = (type: string): Record<string, string> => ({
  'content-type': type,
  'cache-control': 'no-store',
  'content-security-policy': contentSecurityPolicy(true),
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
})

function send(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, headers(type)).end(body)
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, headers('text/plain; charset=utf-8')).end(`${message}\n`)
}

/** Refuses other host names, because a page of another site could have pointed one at this machine. */
function isOwnHost({ headers: { host } }: IncomingMessage, port: number): boolean {
  return host === `127.0.0.1:${port}` || host === `localhost:${port}`
}

function isSame(requested: string, token: string): boolean {
  const [left, right] = [Buffer.from(requested), Buffer.from(token)]
  return left.length === right.length && timingSafeEqual(left, right)
}
