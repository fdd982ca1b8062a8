// The third table, by door.
import type { SecondRow } from '../second-table/row.ts'
import { anthropicRows } from './anthropic.ts'
import { mcpRows, standardRows } from './clients.ts'
import { commandRows } from './commands.ts'
import { documentRows, lspRows } from './documents.ts'
import { editRows } from './edits.ts'
import { fileRows } from './files.ts'
import { codexRows, openaiRows } from './openai.ts'
import { patchRows } from './patches.ts'
import { processRows } from './processes.ts'
import { cliRows, sandboxRows } from './programs.ts'
import type { ThirdDoor } from './row.ts'
import { searchRows } from './searches.ts'
import { sessionRows, strictRows } from './session-commands.ts'
import { sessionFileRows } from './sessions.ts'

/** The rows of each door. */
export const table: Record<ThirdDoor, SecondRow[]> = {
  toolkit: [...fileRows, ...editRows, ...patchRows, ...searchRows, ...commandRows, ...processRows],
  documents: documentRows,
  lsp: lspRows,
  contract: [...sessionFileRows, ...sessionRows],
  strict: strictRows,
  anthropic: anthropicRows,
  openai: openaiRows,
  codex: codexRows,
  mcp: mcpRows,
  standard: standardRows,
  sandbox: sandboxRows,
  cli: cliRows,
}
