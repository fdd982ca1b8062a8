// The second table, by door.
import { anthropicRows } from './anthropic.ts'
import { rows as commands } from './commands.ts'
import { rows as contractCalls } from './contract-calls.ts'
import { rows as contractOthers } from './contract-others.ts'
import { codexRows, openaiRows } from './openai.ts'
import { rows as patches } from './patches.ts'
import { cliRows, mcpRows, sandboxRows, standardRows } from './programs.ts'
import { rows as reads } from './reads.ts'
import type { Door, SecondRow } from './row.ts'
import { rows as searches } from './searches.ts'

/** The rows of each door. `plain` has those of `toolkit` that need neither patches nor processes. */
export const table: Record<Exclude<Door, 'plain'>, SecondRow[]> = {
  toolkit: [...reads, ...searches, ...patches, ...commands],
  contract: [...contractCalls, ...contractOthers],
  anthropic: anthropicRows,
  openai: openaiRows,
  codex: codexRows,
  mcp: mcpRows,
  standard: standardRows,
  sandbox: sandboxRows,
  cli: cliRows,
}
