import { setTimeout as pause } from 'node:timers/promises'

/** What the SDK says of a step. */
interface Operation {
  id: string
  op: string
  displayName?: string
  data?: unknown
}

/**
 * One run of a function, as the server of Inngest drives it: it asks the worker again and again, with what it has kept of each step. The server
 * itself cannot be had from a registry.
 */
export class InngestRun {
  /** The names of the steps whose results were kept, in their order. */
  readonly kept: string[] = []
  /** What the function returned, or what it failed with for good. */
  result: unknown
  /** Whether the function failed, and said that it is not to be tried again. */
  isFinal = false
  readonly #steps: Record<string, object> = {}
  readonly #stack: string[] = []
  readonly #url: string
  readonly #event: object
  readonly #runId: string

  constructor(port: number, runId: string, data: object) {
    this.#url = `http://127.0.0.1:${port}/api/inngest?fnId=agents-task`
    this.#runId = runId
    this.#event = { name: 'agents/task', id: runId, ts: 1, data }
  }

  /**
   * Goes on until the function has ended. A request that nobody answers is sent again.
   *
   * @param onResult told of a step before its result is kept, which it is not if this says so
   */
  async drive(onResult: (name: string) => Promise<boolean> = () => Promise.resolve(true)): Promise<void> {
    const wanted = ['step']
    for (let requests = 0; wanted.length > 0; requests += 1) {
      if (requests > 100) throw new Error('the function does not end')
      const answer = await this.#ask(wanted.shift() ?? '')
      const said: unknown = await answer.json()
      if (answer.status !== 206) {
        this.result = said
        this.isFinal = answer.headers.get('x-inngest-no-retry') === 'true'
        if (answer.ok || this.isFinal) return
        throw new Error(JSON.stringify(said))
      }
      for (const { id, op, data, displayName = '' } of said as Operation[]) {
        if (op === 'StepPlanned') wanted.push(id)
        else if (op !== 'StepRun') throw new Error(JSON.stringify(said))
        else if (!(await onResult(displayName))) wanted.push('step')
        else {
          this.#steps[id] = { type: 'data', data }
          this.#stack.push(id)
          this.kept.push(displayName)
          if (wanted.length === 0) wanted.push('step')
        }
      }
    }
  }

  async #ask(stepId: string): Promise<Response> {
    const stack = { stack: this.#stack, current: this.#stack.length }
    for (let attempt = 0; ; attempt += 1) {
      const ctx = { run_id: this.#runId, attempt, max_attempts: 100, disable_immediate_execution: false, use_api: false, stack }
      const body = JSON.stringify({ version: -1, event: this.#event, events: [this.#event], steps: this.#steps, ctx })
      try {
        return await fetch(`${this.#url}&stepId=${stepId}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      } catch (error) {
        if (attempt > 200) throw error
        await pause(200)
      }
    }
  }
}
