import type { ModelMessage } from 'ai'
import { processName } from '../../core/processes/process-texts.js'
import {
  type BackgroundProcess,
  type BackgroundRecord,
  type BackgroundTask,
  type BackgroundWork,
  isProcess,
  type RecordedWork,
  type WorkEnd,
} from '../journal/background-record.js'
import type { Limits } from '../registry/limits.js'
import { headOf } from '../registry/limited-output.js'

interface Delivery {
  message: ModelMessage & { role: 'assistant'; content: string }
  /** The index of its message, once it has been inserted. */
  at: number | undefined
  /** The record to update once the parent has the message. */
  recorded: Pick<RecordedWork, 'markDelivered'> | undefined
}

/** The outcomes of background tasks and the ends of processes, which the parent gets at its next step. */
export class BackgroundMessages {
  readonly #all: Delivery[] = []
  readonly #limits: Readonly<Limits>
  #record: BackgroundRecord | undefined
  #lookAgainAtMs: number | undefined

  constructor(limits: Readonly<Limits>) {
    this.#limits = limits
  }

  recordIn(record: BackgroundRecord): void {
    this.#record = record
  }

  /** Takes over what earlier openings left. @returns the highest number in the id of one of their processes. */
  async resume(): Promise<number> {
    if (this.#record === undefined) return 0
    const { works, lookAgainAtMs, processes } = await this.#record.undelivered(this.#limits.taskMs)
    this.#lookAgainAtMs = lookAgainAtMs
    for (const { work, end, recorded } of works) this.add(work, end, recorded)
    return processes
  }

  /** Records a task, which must not begin if this throws. @returns a function to call with the outcome. */
  async begin(task: BackgroundWork): Promise<(end: WorkEnd) => Promise<void>> {
    const recorded = await this.record(task)
    return async (end) => {
      await recorded?.end(end)
      this.add(task, end, recorded)
    }
  }

  /** Records work whose outcome {@link add} or another way reports. It must not begin if this throws. */
  record(work: BackgroundWork): Promise<RecordedWork | undefined> {
    return this.#record?.begin(work) ?? Promise.resolve(undefined)
  }

  /** Inserts the outcomes into the messages of a step; `undefined` if there are none. */
  async into(messages: readonly ModelMessage[]): Promise<ModelMessage[] | undefined> {
    if (this.#lookAgainAtMs !== undefined && Date.now() >= this.#lookAgainAtMs) await this.resume()
    // Some hosts and versions of the SDK keep inserted messages, and others do not.
    const missing = this.#all.filter(({ message }) => !messages.some((one) => one.role === 'assistant' && one.content === message.content))
    await this.#markDelivered((delivery) => delivery.at !== undefined || !missing.includes(delivery))
    if (missing.length === 0) return undefined
    const all = [...messages]
    for (const delivery of missing) {
      delivery.at ??= all.length
      all.splice(Math.min(delivery.at, all.length), 0, delivery.message)
    }
    return all
  }

  async close(): Promise<void> {
    await this.#markDelivered(({ at }) => at !== undefined)
  }

  /** A message counts as delivered once the step that carried it has ended; otherwise it is delivered again. */
  async #markDelivered(is: (delivery: Delivery) => boolean): Promise<void> {
    const now = this.#all.filter((delivery) => delivery.recorded !== undefined && is(delivery))
    const ends = now.map(({ recorded }) => recorded)
    for (const delivery of now) delivery.recorded = undefined
    for (const recorded of ends) await recorded?.markDelivered()
  }

  /** Adds an outcome to the messages of the parent's next step. */
  add(work: BackgroundWork, end: WorkEnd, recorded: Delivery['recorded']): void {
    const text = isProcess(work) ? endOfProcess(work, end) : endOfTask(work, end)
    this.#all.push({ message: { role: 'assistant', content: headOf(text, this.#limits.outputBytes) }, at: undefined, recorded })
  }
}

function endOfTask({ agent, sessionId }: BackgroundTask, end: WorkEnd): string {
  const head = `The background task of ${agent} (session ${sessionId})`
  return 'output' in end ? `${head} has finished:\n\n${end.output}` : `${head} has failed: ${end.failure}`
}

const endOfProcess = ({ processId, command }: BackgroundProcess, end: WorkEnd): string =>
  `The process ${processName(processId, command)} ${'output' in end ? end.output : end.failure}.`
