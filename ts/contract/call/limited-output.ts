import type { Outcome } from './envelope.js'

/** What a tool returns that has kept to its own limit. */
export class LimitedOutput {
  readonly data: unknown
  readonly outcome: Outcome

  constructor(data: unknown, output_path?: string, truncated = output_path !== undefined, notes: readonly string[] = []) {
    this.data = data
    this.outcome = { truncated, ...(output_path === undefined ? {} : { output_path }), notes: [...notes] }
  }
}

/** Where all of an output is that was cut, for a model. */
export const wholeIn = (path: string): string => `All of it is in ${path}: \`read\` takes that path (offset and limit count bytes).`
