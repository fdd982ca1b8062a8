import { Worker } from 'node:worker_threads'
import { unlessAborted } from '../../core/abort.js'
import { ContractFailure } from '../registry/envelope.js'

/** How many pages are converted at once. Each takes a thread and its memory. */
const MAX_CONCURRENT = 2
/** The limits of a thread. A page within the limit of a download needs a fraction of them. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 64 }

let running = 0
const waiting: (() => void)[] = []

/**
 * Converts a page to Markdown on a thread of its own. The page is untrusted input: whatever it does to the converter, the
 * host's thread stays free, and an abort ends the work.
 *
 * @throws {ContractFailure} tool_failed; the reason of the signal.
 */
export async function toMarkdown(html: string, url: string, signal: AbortSignal): Promise<string> {
  if (html.trim() === '') return ''
  await turn(signal)
  try {
    return await convert(html, url, signal)
  } finally {
    leave()
  }
}

/** Waits until a thread may be started, and takes its place, which the one before hands over. */
async function turn(signal: AbortSignal): Promise<void> {
  if (running < MAX_CONCURRENT) {
    running += 1
    return
  }
  let mine: () => void = () => undefined
  const handed = new Promise<void>((resolve) => {
    mine = resolve
    waiting.push(resolve)
  })
  try {
    await unlessAborted(handed, signal)
  } catch (error) {
    const at = waiting.indexOf(mine)
    if (at === -1) leave()
    else waiting.splice(at, 1)
    throw error
  }
}

/** Hands the place to the next one. */
function leave(): void {
  const next = waiting.shift()
  if (next === undefined) running -= 1
  else next()
}

async function convert(html: string, url: string, signal: AbortSignal): Promise<string> {
  const worker = new Worker(new URL('./markdown-worker.js', import.meta.url), {
    workerData: { html, url },
    resourceLimits,
    env: {},
    stdin: false,
  })
  try {
    const answer = new Promise<string>((resolve, reject) => {
      const failed = (why: string): void =>
        reject(new ContractFailure('tool_failed', `The page could not be turned into text: ${why}. Use another source.`))
      worker.once('message', ({ text, problem }: { text?: string; problem?: string }) => {
        if (text === undefined) failed(problem ?? 'it cannot be read')
        else resolve(text)
      })
      worker.once('error', (error: unknown) => failed(error instanceof Error ? error.message : 'the converter failed'))
      worker.once('exit', () => failed('the converter ended early'))
      worker.once('messageerror', () => failed('the converter gave nothing readable'))
    })
    return await unlessAborted(answer, signal)
  } finally {
    await worker.terminate()
  }
}
