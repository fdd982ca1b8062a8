// The fourth table: mistakes that were written down, with their right answers, from the documents and from public reports on other agents.
import { describe, expect, test } from 'vitest'
import type { Sandbox } from '../../support/sandbox.ts'
import { type Make, openDoor } from '../second-table/calls.ts'
import type { SecondRow } from '../second-table/row.ts'
import { openThirdDoor } from '../third-table/calls.ts'
import { tryRow } from '../support/tried-row.ts'
import type { ThirdDoor } from '../third-table/row.ts'
import { table } from './table.ts'

/**
 * Rows whose answer does not say all that it has to. One that is mended goes from here. F4A05 asks for the number of lines as a person counts
 * them; the texts of the editor are its provider's, which counts what follows the last line break.
 */
const OPEN = new Set(['F4W08', 'F4A05'])

/** The tools of the thread are those of the second table. */
const open = (door: ThirdDoor, parcel: Sandbox): Promise<Make> =>
  door === 'standard' ? openDoor(door, parcel) : openThirdDoor(door, parcel)

describe.each(Object.entries(table))('%s', (door, rows) => {
  const named = rows.map((row) => [`${row.id} ${row.kind}`, row] as const)
  const made = (_: string, row: SecondRow): Promise<void> => tryRow((parcel) => open(door as ThirdDoor, parcel), row)
  test.each(named.filter(([, { id }]) => !OPEN.has(id)))('%s', made, 30_000)
  test.fails.each(named.filter(([, { id }]) => OPEN.has(id)))('%s, open', made, 30_000)
})

test('the table has at least 160 mistakes, of every door and of many kinds', () => {
  const rows = Object.values(table).flat()
  expect(rows.length).toBeGreaterThanOrEqual(160)
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
  expect(new Set(rows.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(60)
})
