import type { Mistake } from './model-reads.ts'

/** A mistake, what its reader has to find in the text, and a next move that the text names and that then works. */
export interface Row extends Mistake {
  name: string
  /** What the text has to say. */
  says: RegExp[]
  /** What it must not say: advice that its reader cannot follow. */
  never?: RegExp
  /** The text holds the words of another program, which differ by machine. */
  foreign?: boolean
  /** The next move, and what it gives. */
  nextMove?: Mistake & { gives: RegExp }
}

export const call = (name: string, tool: string, input: object, says: RegExp[], more: Partial<Row> = {}): Row => ({
  name,
  tool,
  input,
  says,
  ...more,
})
export const next = (tool: string, input: object, gives: RegExp): Pick<Row, 'nextMove'> => ({ nextMove: { tool, input, gives } })
/** A command line of the shell. */
export const sh = (script: string): object => ({ cmd: 'sh', args: ['-c', script] })
