import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runs } from '../../support/randomised.ts'
import { opened, useServer } from './servers.ts'

const own = useServer()

test('a server that crashes and comes back costs time, and no row', { timeout: 300_000 }, async () => {
  const schema = own.schema()
  const journal = await opened(own.open({ schema, patienceMs: 20_000, leaseMs: 60_000 }))
  await journal.recover()
  const state = { isOver: false }
  let longest = 0
  const made: string[] = []
  const callers = Array.from({ length: 32 }, async (_, lane) => {
    for (let seq = 1; !state.isOver; seq += 1) {
      const start = performance.now()
      const call = { runId: 'run', nodeId: `lane ${lane}`, attempt: 1, seq, toolName: 'pay', sideEffect: true }
      const ref = await journal.insertToolCall(call)
      await journal.updateToolCall(ref, { status: 'success', outputJson: `"${lane}/${seq}"` })
      longest = Math.max(longest, performance.now() - start)
      made.push(`"${lane}/${seq}"`)
    }
  })
  const failure = Promise.all(callers).then(
    () => undefined,
    (error: unknown) => error,
  )
  const restarts = runs(10)
  for (let round = 0; round < restarts; round += 1) {
    await pause(200 + Math.random() * 300)
    await own.server.crash()
    await pause(Math.random() * 200)
    await own.server.start()
  }
  await pause(500)
  state.isOver = true
  expect(await failure).toBeUndefined()
  const rows = await journal.listRun('run')
  const recorded = new Set(rows.map((row) => row.outputJson))
  console.log(`restarts: ${restarts}, ${made.length} calls, longest ${Math.round(longest)} ms`)
  expect(made.filter((output) => !recorded.has(output))).toEqual([])
  expect(rows.filter((row) => row.status !== 'success')).toEqual([])
  expect(rows).toHaveLength(made.length)
  await journal.close()
})
