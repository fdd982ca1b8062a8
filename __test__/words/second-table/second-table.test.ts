// The second table: mistakes that were written down, with their right answers, by somebody who had seen no source.
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { type Answer, makeShop, openDoor } from './calls.ts'
import { type Door, neverAnywhere, type SecondRow } from './row.ts'
import { table } from './table.ts'

/** Words of other programs in an answer, which differ by machine and runtime; R06 has what its program could print in time. */
const FOREIGN = /^(?:B17|B24|B29|B31|C20|L12|R06|S03|T33)$/u

async function tried(door: Door, { id, steps, ok, says, never = [], move }: SecondRow): Promise<void> {
  const shop = makeShop()
  const make = await openDoor(door, shop)
  let answer: Answer = { ok: true, text: '' }
  for (const step of steps) {
    if ('put' in step) shop.put(step.put, step.text)
    else if ('pauseMs' in step) await sleep(step.pauseMs)
    else answer = await make(step.tool, step.args)
  }
  if (ok !== 'either') expect(answer.ok, answer.text).toBe(ok)
  for (const pattern of says) expect(answer.text).toMatch(pattern)
  for (const pattern of [...neverAnywhere, ...never]) expect(answer.text).not.toMatch(pattern)
  if (!FOREIGN.test(id)) expect(shortened(answer.text)).toMatchSnapshot()
  if (move === undefined || !('tool' in move)) return
  const then = await make(move.tool, move.args)
  expect(then.ok, then.text).toBe(true)
}

/** A long answer by its ends. Ports and names of files are those of the moment. */
function shortened(answer: string): string {
  const text = answer.replaceAll(/(?<=port"?:? ?)\d{4,5}/gu, '4321').replaceAll(/\/tmp\/toolwright-sessions-[^"`\s]+/gu, '/sidecar')
  return text.length > 1_500 ? `${text.slice(0, 300)} … ${text.slice(-600)}` : text
}

describe.each(Object.entries(table))('%s', (door, rows) => {
  test.each(rows.map((row) => [`${row.id} ${row.kind}`, row] as const))('%s', (_, row) => tried(door as Door, row), 30_000)
})

test('the table has at least 100 mistakes, of every door and of many kinds', () => {
  const rows = Object.values(table).flat()
  expect(rows.length).toBeGreaterThanOrEqual(100)
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
  expect(new Set(rows.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(40)
})
