// The fourth table, by door.
import type { SecondRow } from '../second-table/row.ts'
import type { ThirdDoor } from '../third-table/row.ts'
import { anthropicRows } from './anthropic.ts'
import { cliRows, mcpRows, sandboxRows, standardRows } from './clients.ts'
import { commandRows } from './commands.ts'
import { editRows } from './edits.ts'
import { documentRows, fileRows } from './files.ts'
import { codexRows, openaiRows } from './openai.ts'
import { patchRows } from './patches.ts'
import { processRows } from './processes.ts'
import { lspRows, searchRows } from './searches.ts'
import { sessionRows, strictRows } from './sessions.ts'

/** The rows of each door. */
export const table: Record<ThirdDoor, SecondRow[]> = {
  toolkit: [...fileRows, ...editRows, ...patchRows, ...searchRows, ...commandRows, ...processRows],
  documents: documentRows,
  lsp: lspRows,
  contract: sessionRows,
  strict: strictRows,
  anthropic: anthropicRows,
  openai: openaiRows,
  codex: codexRows,
  mcp: mcpRows,
  standard: standardRows,
  sandbox: sandboxRows,
  cli: cliRows,
}
