import { setTimeout as pause } from 'node:timers/promises'
import { defineTool, type Journal, openJournal, runTask } from 'toolwright'
import { callOnce } from 'toolwright/durable'
import { postgresStore } from 'toolwright/postgres'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { FailingClient, type Fate, statements } from './lost-answers.ts'
import { useServer } from './servers.ts'

const own = useServer()
const leaseMs = 1_500
const patienceMs = 500
/** Shorter than patience; between patience and the lease, where a claim was stuck for ever; longer than the lease. */
const SILENCES = [250, 900, 2_400] as const
const FATES: readonly Fate[] = ['answer lost', 'never sent', 'late']

async function scene(layout = 'table') {
  const schema = own.schema()
  const client = new FailingClient(own.pool)
  const made = own.open({ schema, ...(layout === 'days' && { partition: 'day' }) })
  await made.lastRow()
  await made.close()
  const here = await openJournal(postgresStore(client, { schema, leaseMs, patienceMs }))
  const there = await openJournal(own.open({ schema, leaseMs, patienceMs }))
  const effects: string[] = []
  const pay = (more: object = {}, takesMs = 50) =>
    defineTool({
      name: 'pay',
      schema: z.object({}),
      sideEffect: true,
      execute: async (_args, ctx) => {
        effects.push(String(ctx.callIdempotencyKey))
        await pause(takesMs)
        return 'paid'
      },
      ...more,
    })
  const close = () => Promise.all([here.close().catch(() => undefined), there.close()])
  return { client, here, there, effects, pay, close, schema }
}

/** As an engine does: it executes a call again until the journal lets it be made. */
async function executed(journal: Journal, tool: unknown): Promise<string> {
  for (let tries = 0; tries < 60; tries += 1) {
    try {
      return String(await callOnce(journal, { runId: 'run', callId: 'call', tool, input: {} }))
    } catch (error) {
      const { code } = error as { code?: string }
      if (code?.startsWith('JOURNAL_') !== true) return String(code)
      await pause(50)
    }
  }
  return 'gave up'
}

const matrix = (kinds: readonly (keyof typeof statements)[]) =>
  kinds
    .flatMap((kind) => FATES.flatMap((fate) => SILENCES.map((silentMs) => [kind, fate, silentMs] as const)))
    // Every other one by days; the number of silences is odd, so that each kind has both.
    .map(([kind, fate, silentMs], index) => [kind, fate, silentMs, index % 2 === 0 ? 'table' : 'days'] as const)

describe.concurrent('the network fails at one statement of a call', () => {
  test.for(matrix(['claim', 'outcome', 'heartbeat']))(
    '%s: %s, silent for %i ms, %s',
    { timeout: 60_000 },
    async ([kind, fate, silentMs, layout]) => {
      const { client, here, there, effects, pay, close } = await scene(layout)
      // The lease begins before.
      await callOnce(here, { runId: 'other', callId: 'first', tool: pay(), input: {} })
      effects.length = 0
      const tool = pay({}, kind === 'heartbeat' ? 1_200 : 50)
      client.failAt(statements[kind], fate, silentMs)
      const began = performance.now()
      const one = executed(here, tool)
      await pause(100)
      const two = executed(there, tool)
      const answers = await Promise.all([one, two])
      const tookMs = performance.now() - began
      expect(client.failures).toBe(1)
      expect(effects.length).toBeLessThanOrEqual(1)
      for (const answer of answers) expect(answer).toMatch(/^(?:paid|OUTCOME_UNKNOWN)$/u)
      // Where nobody is told that it is unknown, it was made.
      if (!answers.includes('OUTCOME_UNKNOWN')) expect(effects).toHaveLength(1)
      // Where a claim alone was lost, nothing is unknown, unless the process was given up meanwhile.
      if (kind === 'claim' && silentMs < leaseMs) expect(answers).toEqual(['paid', 'paid'])
      expect(tookMs).toBeLessThan(silentMs + leaseMs + 5_000)
      // What comes late ends nobody's call, and leaves none open.
      await pause(900)
      const rows = await there.listRun('run')
      expect(rows.map(({ status }) => status)).toEqual([expect.stringMatching(/^(?:success|unknown)$/u)])
      await close()
    },
  )

  test.for(matrix(['intent', 'lock', 'unlock']))(
    '%s of a task: %s, silent for %i ms, %s',
    { timeout: 60_000 },
    async ([kind, fate, silentMs, layout]) => {
      const { client, here, there, effects, pay, close } = await scene(layout)
      await callOnce(here, { runId: 'other', callId: 'first', tool: pay(), input: {} })
      effects.length = 0
      const began = performance.now()
      client.failAt(statements[kind], fate, silentMs)
      // What nobody has read yet is protected only where the tool declares it.
      const declared = pay({ usesIdempotencyKey: true })
      const attempt = (journal: Journal) =>
        runTask({ journal, runId: 'run', nodeId: 'node', onReplayUnsafe: 'refuse' }, async () => declared.execute({}))
      let outcome = await attempt(here).catch((error: { code?: string }) => String(error.code))
      for (let tries = 0; outcome !== 'paid' && tries < 200; tries += 1) {
        await pause(50)
        outcome = await attempt(tries % 2 === 0 ? there : here).catch((error: { code?: string }) => String(error.code))
        if (outcome === 'REPLAY_UNSAFE') break
      }
      expect(performance.now() - began).toBeLessThan(silentMs + leaseMs + 5_000)
      expect(client.failures).toBe(1)
      // The effect was made once. The attempt's own row says so, or that it is not known.
      expect(outcome).toBe('paid')
      expect(effects).toHaveLength(1)
      // A task whose lock was not heard of is not locked for ever.
      await pause(900)
      let unlocked = 'JOURNAL_TASK_LOCKED'
      for (let tries = 0; unlocked === 'JOURNAL_TASK_LOCKED' && tries < 100; tries += 1) {
        unlocked = await runTask({ journal: there, runId: 'run', nodeId: 'node' }, () => 'free').catch((error: { code?: string }) =>
          String(error.code),
        )
        await pause(50)
      }
      expect(unlocked).toBe('free')
      await close()
    },
  )
})

test('one claim after the other is lost, and what arrives late is taken back all the same', { timeout: 60_000 }, async () => {
  const { client, here, there, effects, pay, close } = await scene()
  await callOnce(here, { runId: 'other', callId: 'first', tool: pay(), input: {} })
  effects.length = 0
  const call = { runId: 'run', callId: 'call', tool: pay(), input: {} }
  for (const fate of ['late', 'answer lost', 'late'] as const) {
    client.failAt(statements.claim, fate, 700)
    await expect(callOnce(here, call)).rejects.toMatchObject({ code: 'JOURNAL_UNREACHABLE' })
    await pause(300)
  }
  await pause(1_200)
  // Nobody makes it, and so another process may.
  expect(await callOnce(there, call)).toBe('paid')
  expect(await callOnce(here, call)).toBe('paid')
  expect(effects).toHaveLength(1)
  await close()
})

test('an outcome that cannot be recorded for a while is written behind, and a waiter gets it', { timeout: 30_000 }, async () => {
  const { client, here, there, effects, pay, close } = await scene()
  const tool = pay({}, 300)
  const made = callOnce(here, { runId: 'run', callId: 'call', tool, input: {} })
  await pause(100)
  client.failAt(statements.outcome, 'never sent', 900)
  const waiter = callOnce(there, { runId: 'run', callId: 'call', tool, input: {} })
  expect(await Promise.all([made, waiter])).toEqual(['paid', 'paid'])
  expect(effects).toHaveLength(1)
  await close()
})

test('a database that cannot encode every output is refused when the journal is opened', { timeout: 60_000 }, async () => {
  const { Pool } = await import('pg')
  await own.pool.query(`CREATE DATABASE latin1 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`).catch(() => undefined)
  const pool = new Pool({ ...own.server.socket, database: 'latin1', max: 4 })
  const store = postgresStore(pool, { leaseMs, patienceMs })
  await expect(openJournal(store).then((journal) => journal.lastRow())).rejects.toMatchObject({ code: 'JOURNAL_OPEN_FAILED' })
  await store.close()
  await pool.end()
})

test('a lost undoing does not keep others from it', { timeout: 30_000 }, async () => {
  const { client, here, there, close } = await scene()
  const ref = await here.insertToolCall({
    runId: 'run',
    nodeId: 'n',
    attempt: 1,
    seq: 1,
    toolName: 'pay',
    sideEffect: true,
    hasRevert: true,
  })
  await here.updateToolCall(ref, { status: 'success' })
  client.failAt(/SET revert_status = 'reverting'/u, 'answer lost', 900)
  await expect(here.claimRevert(Number(ref.row))).rejects.toMatchObject({ code: 'JOURNAL_UNREACHABLE' })
  let claim = await there.claimRevert(Number(ref.row))
  for (let tries = 0; !('won' in claim) && tries < 100; tries += 1) {
    await pause(50)
    claim = await there.claimRevert(Number(ref.row))
  }
  expect(claim).toHaveProperty('won')
  await close()
})
