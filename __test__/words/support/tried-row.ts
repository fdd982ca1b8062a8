/** Tries a row of the third and the fourth table. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Sandbox } from '../../support/sandbox.ts'
import type { Answer, Make } from '../second-table/calls.ts'
import { neverAnywhere, type SecondRow } from '../second-table/row.ts'
import { makeParcel } from '../third-table/calls.ts'

/** @param open opens the door of the row. @param isForeign whether its program prints a stack of its own */
export async function tryRow(open: (parcel: Sandbox) => Promise<Make>, row: SecondRow, isForeign = false): Promise<void> {
  const { steps, ok, says, never = [] } = row
  const parcel = makeParcel()
  const make = await open(parcel)
  let answer: Answer = { ok: true, text: '' }
  for (const step of steps) {
    if ('put' in step) parcel.put(step.put, step.text)
    else if ('pauseMs' in step) await sleep(step.pauseMs)
    else answer = await make(step.tool, step.args)
  }
  if (ok !== 'either') expect(answer.ok, answer.text).toBe(ok)
  for (const pattern of says) expect(answer.text).toMatch(pattern)
  for (const pattern of [...(isForeign ? [] : neverAnywhere), ...never]) expect(answer.text).not.toMatch(pattern)
}
