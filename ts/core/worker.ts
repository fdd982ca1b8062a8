import { type ResourceLimits, Worker } from 'node:worker_threads'
import { loadLate } from './late-code.js'

const loadTexts = loadLate(() => import('./worker-texts.js'))

/** Options of a thread. */
export interface ThreadOptions {
  /** The memory limit of the thread. */
  resourceLimits: ResourceLimits
  /** The thread's `workerData`. @default nothing */
  workerData?: unknown
}

/**
 * Starts a thread. Its program is a text and not a file, because a bundle of this package would lack the file. The thread has
 * no environment and no input, and none of the host's runtime options, such as modules of `--import`.
 */
export async function startThread(program: 'markdownWorker' | 'checkWorker', options: ThreadOptions): Promise<Worker> {
  const texts = await loadTexts()
  return new Worker(texts[program], { ...options, eval: true, env: {}, execArgv: [], stdin: false })
}
