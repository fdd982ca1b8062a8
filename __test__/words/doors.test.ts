// What a model reads after its mistakes at every door of the package, and whether the advised move works there.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { doors } from './doors/doors.ts'
import type { DoorMistake } from './doors/mistake.ts'
import { others } from './doors/others.ts'
import { session } from './doors/session.ts'
import { toolkit } from './doors/toolkit.ts'
import { makeProject } from './support/project.ts'

const table: Record<keyof typeof doors, DoorMistake[]> = { toolkit, contract: session, ...others }

/** A variable that is kept from commands. */
const { GITHUB_TOKEN } = process.env
beforeAll(() => void (process.env['GITHUB_TOKEN'] = 'ghp_test'))
afterAll(() => {
  if (GITHUB_TOKEN === undefined) delete process.env['GITHUB_TOKEN']
  else process.env['GITHUB_TOKEN'] = GITHUB_TOKEN
})

async function tried(door: keyof typeof doors, { call, says, never, foreign, next }: DoorMistake): Promise<void> {
  const fixture = makeProject()
  fixture.put('.gitignore', 'dist/\n')
  fixture.put('dist/o.js', 'ignoredword\n')
  const make = await doors[door](fixture)
  const steady = (text: string): string =>
    text
      .replaceAll(fixture.root, '/project')
      .replace(/"duration_ms":\d+/gu, '"duration_ms":0')
      .replace(/^Chunk ID: \w+\nWall time: [\d.]+ seconds\n/u, '')
      .replace(/\/(?:usr\/)?bin\/bash: /gu, 'bash: ')
  const text = steady(await make(...call))
  for (const pattern of says) expect(text).toMatch(pattern)
  if (never !== undefined) expect(text).not.toMatch(never)
  // The SDK's own words are its own.
  if (foreign !== true && !text.includes('AI_NoSuchTool')) expect(text).toMatchSnapshot()
  if (next === undefined) return
  const [tool, input, gives] = next
  const then = steady(await make(tool, input))
  expect(then).not.toMatch(/^✘/u)
  expect(then).toMatch(gives)
}

describe.each(Object.entries(table))('%s', (door, rows) => {
  test.each(rows.map((row) => [row.name, row] as const))('%s', (_, row) => tried(door as keyof typeof doors, row))
})

test('the table has at least 150 mistakes, and every door some', () => {
  const all = Object.values(table)
  expect(all.flat().length).toBeGreaterThanOrEqual(150)
  for (const rows of all) expect(rows.length).toBeGreaterThanOrEqual(7)
})
