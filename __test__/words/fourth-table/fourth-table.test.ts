// The fourth table: mistakes that were written down, with their right answers, from the documents and from public reports on other agents.
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Sandbox } from '../../support/sandbox.ts'
import { type Answer, type Make, openDoor } from '../second-table/calls.ts'
import { neverAnywhere, type SecondRow } from '../second-table/row.ts'
import { makeParcel, openThirdDoor } from '../third-table/calls.ts'
import type { ThirdDoor } from '../third-table/row.ts'
import { table } from './table.ts'

/** Rows whose program prints a stack of its own. */
const FOREIGN = new Set<string>()

/**
 * Rows whose answer does not say all that it has to. One that is mended goes from here. F4A05 asks for the number of lines as a person counts
 * them; the texts of the editor are its provider's, which counts what follows the last line break.
 */
const OPEN = new Set(['F4W08', 'F4A05'])

/** The tools of the thread are those of the second table. */
const open = (door: ThirdDoor, parcel: Sandbox): Promise<Make> =>
  door === 'standard' ? openDoor(door, parcel) : openThirdDoor(door, parcel)

async function tried(door: ThirdDoor, { id, steps, ok, says, never = [] }: SecondRow): Promise<void> {
  const parcel = makeParcel()
  const make = await open(door, parcel)
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

test('the table has at least 160 mistakes, of every door and of many kinds', () => {
  const rows = Object.values(table).flat()
  expect(rows.length).toBeGreaterThanOrEqual(160)
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
  expect(new Set(rows.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(60)
})
