/** Waits for news of a process: output, a port, a question, its end. */
import { setTimeout as pause } from 'node:timers/promises'
import { eitherSignal } from '../abort.js'
import type { KeptProcess } from '../kept-process.js'

/** The kernel's facts about a process. */
export interface ProcessFacts {
  /** The lowest port at which the process listens. */
  port: number | undefined
  waitsForInput: boolean
}

/** The news that end a wait, besides the end of the process and the timeout. */
export interface AwaitedNews {
  /** A port is news, but output is not. */
  port: boolean
  /** Output of stdout after this position is news. */
  outputFrom?: number | undefined
  /** The same for stderr, if it is a separate stream. */
  stderrFrom?: number | undefined
}

/** The shortest check, in milliseconds. Two looks at the kernel, 12 ms apart, are needed to see that a process waits. */
const LOOK_MS = 50
/** Output is collected until none has come for this time, in milliseconds, */
const QUIET_MS = 60
/** and at most for this time. */
const GATHER_MS = 400

/**
 * Waits for news, and collects the output that comes with it.
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
  const port = process.ready(limits).then((openPort) => {
    facts.port = openPort
    return openPort === undefined || !news.port ? never : undefined
  })
  const input = process.waitingForInput(limits).then((state) => {
    facts.waitsForInput = state === 'waiting'
    // A server that also reads its stdin is not asking.
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
