// How rows of the third table are written. Their form is that of the second table. They were written from the documents and from public reports on other
// agents, by somebody who had seen neither the code nor the rows of the tables before.
import type { SecondRow, Step } from '../second-table/row.ts'

/** The doors of the third table: those of the second, and sets with documents, with language servers, and a session that asks nobody. */
export type ThirdDoor =
  | 'toolkit'
  | 'documents'
  | 'lsp'
  | 'contract'
  | 'strict'
  | 'anthropic'
  | 'openai'
  | 'codex'
  | 'mcp'
  | 'standard'
  | 'sandbox'
  | 'cli'

/** A call of a tool, a method, or the program, by the arguments that were sent. */
export const call = (tool: string, args: unknown): Step => ({ tool, args })

/** A row: its last step is the mistake, and its answer has to match every pattern. */
export const row = (id: string, kind: string, steps: Step | Step[], ok: SecondRow['ok'], right: string, ...says: RegExp[]): SecondRow => ({
  id,
  kind,
  steps: Array.isArray(steps) ? steps : [steps],
  ok,
  right,
  says,
})
