import type { Outcome } from './envelope.js'

/** What a tool returns that has kept to its own limit. */
export class LimitedOutput {
  readonly data: unknown
  readonly outcome: Outcome

  constructor(data: unknown, output_path?: string, truncated = output_path !== undefined) {
    this.data = data
    this.outcome = { truncated, ...(output_path === undefined ? {} : { output_path }) }
  }
}
