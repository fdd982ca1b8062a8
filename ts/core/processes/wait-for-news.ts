/** Waiting until there is something to tell of a process: output, a port, a question, its end. */
import { setTimeout as pause } from 'node:timers/promises'
import { eitherSignal } from '../abort.js'
import type { KeptProcess } from '../kept-process.js'

/** What the kernel says of a process. */
export interface ProcessFacts {
  /** The lowest port at which it listens. */
  port: number | undefined
  waitsForInput: boolean
}

/** What a wait ends with, besides the end of the process and of the time. */
export interface AwaitedNews {
  /** A port is news. What is printed before is not. */
  port: boolean
  /** Output of stdout behind this position is news. */
  outputFrom?: number | undefined
  /** The same of stderr, where it is a stream of its own. */
  stderrFrom?: number | undefined
}

/** How long the kernel is asked at least. It takes two looks, 12 ms apart, to see that a process waits. */
const LOOK_MS = 50
/** Output is gathered until none has come for so long, */
const QUIET_MS = 60
/** or for so long at most. */
const GATHER_MS = 400

/**
 * Waits for news, and gathers the output that comes with them.
 *
 * @throws the signal's reason.
 */
export async function waitForNews(
  process: KeptProcess,
  waitMs: number,
  news: AwaitedNews,
  signal: AbortSignal | undefined,
): Promise<ProcessFacts> {
  signal?.throwIfAborted()
  const facts: ProcessFacts = { port: undefined, waitsForInput: false }
  if (process.end !== undefined) return facts
  const over = new AbortController()
  const either = eitherSignal(signal, over.signal)
  const never = new Promise<never>(() => undefined)
  const limits = { waitMs: Infinity, signal: either }
  const port = process.ready(limits).then((found) => {
    facts.port = found
    return found === undefined || !news.port ? never : undefined
  })
  const input = process.waitingForInput(limits).then((state) => {
    facts.waitsForInput = state === 'waiting'
    // A server that also listens to its stdin is no program that asks.
    return facts.waitsForInput && facts.port === undefined ? undefined : never
  })
  const ended = process.wait(Infinity, either)
  const output = (['stdout', 'stderr'] as const).map((stream) => {
    const from = stream === 'stdout' ? news.outputFrom : news.stderrFrom
    if (from === undefined) return never
    return process.read({ stream, from, maxBytes: 1, ...limits }).then(({ bytes }) => (bytes.length === 0 ? never : undefined))
  })
  const waits = [port, input, ended, ...output]
  for (const wait of waits) wait.catch(() => undefined)
  try {
    const time = pause(Math.max(waitMs, LOOK_MS), undefined, { signal: either })
    time.catch(() => undefined)
    await Promise.race([...waits, time])
    await Promise.race([gather(process, either), ended])
    signal?.throwIfAborted()
    return facts
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  } finally {
    over.abort()
  }
}

/** Waits until no more output comes for a moment. */
async function gather(process: KeptProcess, signal: AbortSignal | undefined): Promise<void> {
  const deadline = performance.now() + GATHER_MS
  for (;;) {
    const { total } = await process.read({ from: Number.MAX_SAFE_INTEGER, maxBytes: 0 })
    const { bytes } = await process.read({ from: total, maxBytes: 1, waitMs: QUIET_MS, signal })
    if (bytes.length === 0 || performance.now() > deadline) return
    await pause(QUIET_MS / 2, undefined, { signal })
  }
}
