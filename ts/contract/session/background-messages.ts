import type { ModelMessage } from 'ai'
import type { BackgroundRecord, BackgroundTask, RecordedTask, TaskEnd } from '../journal/background-record.js'
import type { Limits } from '../registry/limits.js'
import { headOf } from '../registry/limited-output.js'

/** The end of a task in the background, as a message. */
interface Delivery {
  message: ModelMessage & { role: 'assistant'; content: string }
  /** Before which message it stands, once it has been put in. */
  at: number | undefined
  /** What is still to be recorded when the parent knows of it. */
  recorded: RecordedTask | undefined
}

/** What tasks in the background gave, until the parent's next step. */
export class BackgroundMessages {
  readonly #all: Delivery[] = []
  readonly #limitBytes: number
  readonly #taskMs: number
  #record: BackgroundRecord | undefined
  #lookAgainAtMs: number | undefined

  constructor({ outputBytes, taskMs }: Pick<Limits, 'outputBytes' | 'taskMs'>) {
    this.#limitBytes = outputBytes
    this.#taskMs = taskMs
  }

  /** Records tasks from now on. */
  recordIn(record: BackgroundRecord): void {
    this.#record = record
  }

  /** Takes up the tasks that an earlier opening of the session has left. */
  async takeUp(): Promise<void> {
    if (this.#record === undefined) return
    const { tasks, lookAgainAtMs } = await this.#record.untold(this.#taskMs)
    this.#lookAgainAtMs = lookAgainAtMs
    for (const { task, end, recorded } of tasks) this.#add(task, end, recorded)
  }

  /**
   * A task is about to begin. What is returned is to be called when it has ended.
   *
   * @throws what the journal throws: then it must not begin.
   */
  async begin(task: BackgroundTask): Promise<(end: TaskEnd) => Promise<void>> {
    const recorded = await this.#record?.begin(task)
    return async (end) => {
      await recorded?.end(end)
      this.#add(task, end, recorded)
    }
  }

  /** The messages of a step with these in them; `undefined` where there is nothing to add. */
  async into(messages: readonly ModelMessage[]): Promise<ModelMessage[] | undefined> {
    if (this.#lookAgainAtMs !== undefined && Date.now() >= this.#lookAgainAtMs) await this.takeUp()
    // Hosts and versions of the SDK differ in whether what was put in once is still there.
    const missing = this.#all.filter(({ message }) => !messages.some((one) => one.role === 'assistant' && one.content === message.content))
    await this.#told((delivery) => delivery.at !== undefined || !missing.includes(delivery))
    if (missing.length === 0) return undefined
    const all = [...messages]
    for (const delivery of missing) {
      delivery.at ??= all.length
      all.splice(Math.min(delivery.at, all.length), 0, delivery.message)
    }
    return all
  }

  /** No more steps will come. */
  async close(): Promise<void> {
    await this.#told(({ at }) => at !== undefined)
  }

  /** Told is what a step had that is over: of one that was killed in it, the next opening is told again. */
  async #told(is: (delivery: Delivery) => boolean): Promise<void> {
    const now = this.#all.filter((delivery) => delivery.recorded !== undefined && is(delivery))
    const ends = now.map(({ recorded }) => recorded)
    for (const delivery of now) delivery.recorded = undefined
    for (const recorded of ends) await recorded?.told()
  }

  #add({ agent, sessionId }: BackgroundTask, end: TaskEnd, recorded: RecordedTask | undefined): void {
    const head = `The background task of ${agent} (session ${sessionId})`
    const text = 'output' in end ? `${head} has finished:\n\n${end.output}` : `${head} has failed: ${end.failure}`
    this.#all.push({ message: { role: 'assistant', content: headOf(text, this.#limitBytes) }, at: undefined, recorded })
  }
}
