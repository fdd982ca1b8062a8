import type { ModelMessage } from 'ai'
import { headOf } from '../truncation.js'

/** The end of a task in the background, as a message. */
interface Delivery {
  message: ModelMessage & { role: 'assistant'; content: string }
  /** Before which message it stands, once it has been put in. */
  at: number | undefined
}

/** What tasks in the background gave, until the parent's next step. */
export class BackgroundMessages {
  readonly #all: Delivery[] = []
  readonly #limitBytes: number

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** The task has ended. */
  add(agent: string, sessionId: string, ended: { output: string } | { failure: string }): void {
    const head = `The background task of ${agent} (session ${sessionId})`
    const text = 'output' in ended ? `${head} has finished:\n\n${ended.output}` : `${head} has failed: ${ended.failure}`
    this.#all.push({ message: { role: 'assistant', content: headOf(text, this.#limitBytes) }, at: undefined })
  }

  /** The messages of a step with these in them; `undefined` where there is nothing to add. */
  into(messages: readonly ModelMessage[]): ModelMessage[] | undefined {
    // Hosts and versions of the SDK differ in whether what was put in once is still there.
    const missing = this.#all.filter(({ message }) => !messages.some((one) => one.role === 'assistant' && one.content === message.content))
    if (missing.length === 0) return undefined
    const all = [...messages]
    for (const delivery of missing) {
      delivery.at ??= all.length
      all.splice(Math.min(delivery.at, all.length), 0, delivery.message)
    }
    return all
  }
}
