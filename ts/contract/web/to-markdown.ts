import { Slots, unlessAborted } from '../../core/abort.js'
import { startThread } from '../../core/worker.js'
import { ContractFailure } from '../registry/envelope.js'

/** How many pages are converted at once. Each takes a thread and its memory. */
const MAX_CONCURRENT = 2
/** The limits of a thread. A page within the limit of a download needs a fraction of them. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 64 }

const slots = new Slots(MAX_CONCURRENT)

/**
 * Converts a page to Markdown on a thread of its own. The page is untrusted input: whatever it does to the converter, the
 * host's thread stays free, and an abort ends the work.
 *
 * @throws {ContractFailure} tool_failed; the reason of the signal.
 */
export async function toMarkdown(html: string, url: string, signal: AbortSignal): Promise<string> {
  return html.trim() === '' ? '' : slots.run(() => convert(html, url, signal), signal)
}

async function convert(html: string, url: string, signal: AbortSignal): Promise<string> {
  const worker = await startThread('markdownWorker', { workerData: { html, url }, resourceLimits })
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
