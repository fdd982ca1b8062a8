import { type ResourceLimits, Worker } from 'node:worker_threads'

/** What a thread is started with. */
export interface ThreadOptions {
  /** How much memory it may take. */
  resourceLimits: ResourceLimits
  /** What it finds as `workerData`. @default nothing */
  workerData?: unknown
}

/**
 * Starts a thread. Its program is a text and not a file, because a bundler that takes this package in would leave the
 * file behind. The thread has no environment and no input, and none of the options that the host's runtime was started
 * with: a module that `--import` loads has no business here.
 */
export async function startThread(program: 'markdownWorker' | 'checkWorker', options: ThreadOptions): Promise<Worker> {
  const texts = await import('./worker-texts.js')
  return new Worker(texts[program], { ...options, eval: true, env: {}, execArgv: [], stdin: false })
}
