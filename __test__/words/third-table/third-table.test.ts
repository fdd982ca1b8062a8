// The third table: mistakes that were written down, with their right answers, from the documents alone.
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Answer } from '../second-table/calls.ts'
import { neverAnywhere, type SecondRow } from '../second-table/row.ts'
import { makeParcel, openThirdDoor } from './calls.ts'
import type { ThirdDoor } from './row.ts'
import { table } from './table.ts'

/** Rows whose program prints a stack of its own. */
const FOREIGN = new Set(['B32', 'Z11'])

/** Rows whose answer did not say all that it has to when they were first tried, and does not yet. One that is mended goes from here. */
const OPEN = new Set(
  [
    // The words of the memory tool are those of its provider; `offset` counted from the end, a command's cut output, a script that node does not find, `pages` as a number, `description` of task.
    'M02 M07 R13 B25 B32 D05 C47',
  ].flatMap((ids) => ids.split(' ')),
)

async function tried(door: ThirdDoor, { id, steps, ok, says, never = [] }: SecondRow): Promise<void> {
  const parcel = makeParcel()
  const make = await openThirdDoor(door, parcel)
  let answer: Answer = { ok: true, text: '' }
  for (const step of steps) {
    if ('put' in step) parcel.put(step.put, step.text)
    else if ('pauseMs' in step) await sleep(step.pauseMs)
    else answer = await make(step.tool, step.args)
  }
  if (ok !== 'either') expect(answer.ok, answer.text).toBe(ok)
  for (const pattern of says) expect(answer.text).toMatch(pattern)
  for (const pattern of [...(FOREIGN.has(id) ? [] : neverAnywhere), ...never]) expect(answer.text).not.toMatch(pattern)
}

describe.each(Object.entries(table))('%s', (door, rows) => {
  const named = rows.map((row) => [`${row.id} ${row.kind}`, row] as const)
  const made = (_: string, row: SecondRow): Promise<void> => tried(door as ThirdDoor, row)
  test.each(named.filter(([, { id }]) => !OPEN.has(id)))('%s', made, 30_000)
  test.fails.each(named.filter(([, { id }]) => OPEN.has(id)))('%s, open', made, 30_000)
})

test('the table has at least 150 mistakes, of every door and of many kinds', () => {
  const rows = Object.values(table).flat()
  expect(rows.length).toBeGreaterThanOrEqual(150)
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
  expect(new Set(rows.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(40)
})
