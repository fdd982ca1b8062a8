import { processTools } from 'toolwright/contract'
import { expect, test } from 'vitest'
import { eventually, expectGone, running, sleepingMark } from '../../support/processes.ts'
import { dataOf, openScene } from '../scene.ts'
import { randomTree } from './random-trees.ts'

test('R70 of thirty random trees none is left: half are stopped, half end with the session', async () => {
  const { session, call } = await openScene({ tools: processTools })
  const [stopped, closed] = [sleepingMark(), sleepingMark()]
  const ids: string[] = []
  for (let seed = 0; seed < 30; seed += 1) {
    const started = dataOf(await call('process_start', { command: randomTree(seed, seed % 2 === 0 ? stopped : closed), wait_ms: 0 }))
    if (seed % 2 === 0) ids.push(started.process_id)
  }
  expect(await eventually(() => running(stopped).length >= 15 && running(closed).length >= 15, 20_000)).toBe(true)
  for (const [nth, process_id] of ids.entries()) {
    const end = dataOf(await call('process_stop', { process_id, grace_ms: nth % 3 === 0 ? 100 : 0 }))
    expect(end.running).toBe(false)
  }
  await expectGone(stopped)
  expect(running(closed).length).toBeGreaterThanOrEqual(15)
  await session.close()
  await expectGone(closed)
})
