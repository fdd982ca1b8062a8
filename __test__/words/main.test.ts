import { createTools } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { furtherMistakes } from './further-mistakes.ts'
import { surveyed } from './main-table.ts'
import { modelReads } from './support/model-reads.ts'
import type { Row } from './support/row.ts'
import { makeProject } from './support/project.ts'

async function tried(row: Row): Promise<void> {
  const fixture = makeProject()
  const tools = createTools({ rootDir: fixture.root, toolTimeoutMs: row.name.includes('timeout') ? 700 : 60_000 })
  const text = await modelReads(tools, row, fixture)
  for (const says of row.says) expect(text).toMatch(says)
  if (row.never !== undefined) expect(text).not.toMatch(row.never)
  // The SDK's own words are its own.
  if (row.foreign !== true && !text.includes('AI_')) expect(text).toMatchSnapshot()
  if (row.nextMove !== undefined) expect(await modelReads(tools, row.nextMove, fixture)).toMatch(row.nextMove.gives)
}

describe('the words that a model reads after a mistake', () => {
  test.each(surveyed.map((row) => [row.name, row] as const))('%s', (_, row) => tried(row))
})

describe('further mistakes', () => {
  test.each(furtherMistakes.map((row) => [row.name, row] as const))('%s', (_, row) => tried(row))
})
