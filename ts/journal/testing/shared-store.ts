/** What a store must do for two journals, which stand for two processes. */
import assert from 'node:assert/strict'
import type { Journal } from '../journal.js'
import type { CallClaim, ClaimedCall, ToolCallRef, ToolCallRow } from '../journal-store.js'
import { assertRow, codeOf, done, effect, statuses, task, type TestRunner } from './runner.js'

const claimed = (callId: string, more: Partial<ClaimedCall> = {}): ClaimedCall => ({
  ...task,
  attempt: 1,
  callId,
  toolName: 'pay',
  inputJson: '{"n":1}',
  argsHash: 'hash',
  sideEffect: true,
  idempotent: false,
  ...more,
})

function mine(claim: CallClaim): ToolCallRef {
  assert.ok('claimed' in claim, `the claim gave ${Object.keys(claim).join()}`)
  return claim.claimed
}

function rowOf(claim: CallClaim, what: 'recorded' | 'unknown' | 'running'): ToolCallRow {
  assert.deepEqual(Object.keys(claim), [what])
  return (claim as Record<string, ToolCallRow>)[what] as ToolCallRow
}

export function sharedStoreCases({ test }: TestRunner, openTwo: () => Promise<readonly [Journal, Journal]>): void {
  const withTwo = (name: string, run: (one: Journal, other: Journal) => Promise<void>): void =>
    void test(name, async () => {
      const [one, other] = await openTwo()
      try {
        await run(one, other)
      } finally {
        await Promise.all([one.close(), other.close()])
      }
    })

  withTwo('rows of one are read by the other', async (one, other) => {
    const ref = await one.insertToolCall(effect(1))
    assert.deepEqual(statuses(await other.listRun('run')), ['started'])
    await one.updateToolCall(ref, done)
    assert.deepEqual(statuses(await other.listRun('run')), ['success'])
  })

  withTwo('a task is locked for the other, until it is released', async (one, other) => {
    const lock = await one.lockTask(task, 1)
    assert.equal(await codeOf(() => other.lockTask(task, 2)), 'JOURNAL_TASK_LOCKED')
    assert.equal(await codeOf(() => other.beginTask(task)), 'JOURNAL_TASK_LOCKED')
    assert.equal(lock.lost.aborted, false)
    await lock.release()
    await (await other.lockTask(task, 2)).release()
  })

  withTwo('the token of a lock is higher than that of every earlier one', async (one, other) => {
    const tokens: number[] = []
    for (let round = 0; round < 6; round += 1) {
      const lock = await (round % 2 === 0 ? one : other).lockTask(task, round + 1)
      tokens.push(lock.token)
      await lock.release()
    }
    assert.deepEqual(
      [...new Set(tokens)].sort((a, b) => a - b),
      tokens,
    )
  })

  withTwo('a lock ends with its journal', async (one, other) => {
    await one.lockTask(task, 1)
    await one.close()
    await (await other.lockTask(task, 2)).release()
  })

  withTwo('what one has left without an outcome is unknown to the other', async (one, other) => {
    await one.insertToolCall(effect(1))
    await one.insertToolCall(effect(2, done))
    assert.deepEqual((await other.recover()).calls, [])
    await one.close()
    const { calls, undecided } = await other.recover()
    assert.deepEqual([calls.length, undecided], [1, 0])
    const rows = await other.listRun('run')
    assert.deepEqual(statuses(rows), ['unknown', 'success'])
    assert.match(String(rows[0]?.errorJson), /PROCESS_DIED/u)
    assert.deepEqual((await other.recover()).calls, [])
  })

  withTwo('an attempt begins with what earlier ones have left', async (one, other) => {
    const first = await one.beginTask(task)
    assert.deepEqual([first.attempt, first.last, first.priorEffects, first.made], [1, undefined, [], []])
    await one.insertToolCall(effect(1))
    await one.insertToolCall(effect(2, done))
    await one.insertToolCall(effect(3, { ...done, idempotent: true }))
    await one.close()
    const second = await other.beginTask(task)
    assert.deepEqual([second.attempt, second.last], [2, { attempt: 1, seq: 3 }])
    assert.deepEqual(statuses(second.priorEffects), ['unknown', 'success'])
    assert.deepEqual(second.made, [])
    await second.lock.release()
  })

  withTwo('an attempt that is continued gets the calls that it has made', async (one, other) => {
    const { lock } = await one.beginTask(task, 3)
    for (const seq of [1, 2]) await one.insertToolCall(effect(seq, { attempt: 3, ...done }))
    await lock.release()
    const again = await other.beginTask(task, 3)
    assert.deepEqual([again.attempt, again.made.map(({ seq }) => seq), again.priorEffects.map(({ seq }) => seq)], [3, [1, 2], [1, 2]])
    await again.lock.release()
  })

  withTwo('a call is claimed by one, and is running for the other until it has its outcome', async (one, other) => {
    const ref = mine(await one.claimCall(claimed('call-1')))
    assert.deepEqual([ref.attempt, ref.seq], [1, 1])
    assertRow(rowOf(await other.claimCall(claimed('call-1')), 'running'), { seq: 1, status: 'started' })
    assertRow(rowOf(await one.claimCall(claimed('call-1')), 'running'), { seq: 1 })
    await one.updateToolCall(ref, done)
    for (const journal of [one, other]) {
      assertRow(rowOf(await journal.claimCall(claimed('call-1')), 'recorded'), { outputJson: '"ok"', status: 'success' })
      assertRow(rowOf(await journal.claimCall(claimed('call-1'), { repeat: true }), 'recorded'), { status: 'success' })
    }
    assert.equal((await other.listRun('run')).length, 1)
  })

  withTwo('a claimed call has its outcome once', async (one) => {
    const ref = mine(await one.claimCall(claimed('call-1')))
    await one.updateToolCall(ref, done)
    assert.equal(await codeOf(() => one.updateToolCall(ref, done)), 'JOURNAL_CALL_FINISHED')
  })

  withTwo('a call whose process is gone is unknown, and repeated only on demand', async (one, other) => {
    const first = mine(await one.claimCall(claimed('call-1', { startedAtMs: 1_000 })))
    await one.close()
    for (let round = 0; round < 2; round += 1) {
      assertRow(rowOf(await other.claimCall(claimed('call-1')), 'unknown'), { status: 'unknown', seq: first.seq })
    }
    const second = mine(await other.claimCall(claimed('call-1', { startedAtMs: 1_000 }), { repeat: true }))
    assert.deepEqual([second.row, second.seq], [first.row, first.seq])
    // Whoever still has the first start writes nothing.
    assert.ok(Number(second.startedAtMs) > 1_000)
    assertRow(rowOf(await other.claimCall(claimed('call-1'), { repeat: true }), 'running'), { status: 'started', errorJson: null })
    await other.updateToolCall(second, done)
    assert.deepEqual(statuses(await other.listRun('run')), ['success'])
  })

  withTwo(
    'whoever takes over sees whether the key was read: before the end, and not what an earlier execution has read',
    async (one, other) => {
      const [read, unread] = [await one.insertToolCall(effect(1)), await one.insertToolCall(effect(2))]
      const ended = await one.insertToolCall(effect(3))
      await one.updateToolCall(ended, done)
      const claim = mine(await one.claimCall(claimed('call-1')))
      for (const ref of [read, ended, claim]) await one.noteKeyRead?.(ref)
      await one.flush()
      const protectedRows = async () =>
        (await other.listRun('run')).filter((row) => row.acceptsIdempotencyKey === true).map(({ seq }) => seq)
      assert.deepEqual(await protectedRows(), [read.seq, claim.seq])
      await one.updateToolCall(claim, { status: 'unknown' })
      const again = mine(await other.claimCall(claimed('call-1'), { repeat: true }))
      // The execution before this one is late.
      await one.noteKeyRead?.(claim)
      await one.flush()
      assert.deepEqual(await protectedRows(), [read.seq])
      await other.noteKeyRead?.(again)
      await other.flush()
      assert.deepEqual(await protectedRows(), [read.seq, claim.seq])
      await one.close()
      await other.recover()
      assert.deepEqual(await protectedRows(), [read.seq, claim.seq])
      assertRow(
        (await other.listRun('run')).find((row) => row.seq === unread.seq),
        { status: 'unknown', acceptsIdempotencyKey: false },
      )
    },
  )

  withTwo('a recorded unknown outcome is unknown for every claim', async (one, other) => {
    const ref = mine(await one.claimCall(claimed('call-1')))
    await one.updateToolCall(ref, { status: 'unknown', errorJson: '{"name":"Error"}' })
    assertRow(rowOf(await other.claimCall(claimed('call-1')), 'unknown'), { errorJson: '{"name":"Error"}' })
    const again = mine(await other.claimCall(claimed('call-1'), { repeat: true }))
    await other.updateToolCall(again, done)
    assert.deepEqual(statuses(await one.listRun('run')), ['success'])
  })

  withTwo('an unknown call may still get its true outcome', async (one, other) => {
    const ref = mine(await one.claimCall(claimed('call-1')))
    await one.updateToolCall(ref, { status: 'unknown' })
    await one.updateToolCall(ref, done)
    assertRow(rowOf(await other.claimCall(claimed('call-1')), 'recorded'), { status: 'success' })
  })

  withTwo('a call that was refused before it acted is claimed again; one that failed after that is not', async (one, other) => {
    const refused = mine(await one.claimCall(claimed('refused')))
    await one.updateToolCall(refused, { status: 'error', acted: false, errorJson: '{}' })
    const again = mine(await other.claimCall(claimed('refused')))
    assert.equal(again.row, refused.row)
    await other.updateToolCall(again, done)
    const failed = mine(await one.claimCall(claimed('failed')))
    await one.updateToolCall(failed, { status: 'error', errorJson: '{"name":"Error"}' })
    assertRow(rowOf(await other.claimCall(claimed('failed'), { repeat: true }), 'recorded'), { errorJson: '{"name":"Error"}' })
  })

  withTwo('an id belongs to one tool and its arguments', async (one, other) => {
    await one.updateToolCall(mine(await one.claimCall(claimed('call-1'))), done)
    assert.equal(await codeOf(() => other.claimCall(claimed('call-1', { toolName: 'mail' }))), 'REPLAY_DIFFERS')
    assert.equal(await codeOf(() => other.claimCall(claimed('call-1', { argsHash: 'other' }))), 'REPLAY_DIFFERS')
    assertRow((await other.listRun('run'))[0], { toolName: 'pay', status: 'success' })
  })

  withTwo('the same id in another task is another call', async (one, other) => {
    await one.claimCall(claimed('call-1'))
    for (const place of [{ runId: 'x' }, { nodeId: 'x' }, { iteration: 1 }]) mine(await other.claimCall(claimed('call-1', place)))
    mine(await other.claimCall(claimed('call-2')))
  })

  withTwo('claimed calls are numbered after the others of their attempt, and are effects like those', async (one, other) => {
    await one.insertToolCall(effect(4, done))
    const ref = mine(await other.claimCall(claimed('call-1', { callToken: 'token', idempotencyKey: 'key' })))
    assert.deepEqual([ref.attempt, ref.seq], [1, 5])
    await other.updateToolCall(ref, done)
    assertRow((await one.listToolCalls('run', 'node', 0)).at(-1), { seq: 5, callToken: 'token', idempotencyKey: 'key', argsHash: 'hash' })
    assert.deepEqual(
      (await one.priorEffects(task, 2)).map(({ seq }) => seq),
      [4, 5],
    )
  })

  withTwo('of many claims of one call, one wins', async (one, other) => {
    const ids = Array.from({ length: 20 }, (_, index) => `call-${index}`)
    const claims = await Promise.all(
      ids.flatMap((id) => [one, other, one, other].map(async (journal) => ({ id, claim: await journal.claimCall(claimed(id)) }))),
    )
    const won = claims.filter(({ claim }) => 'claimed' in claim)
    assert.deepEqual(won.map(({ id }) => id).sort(), [...ids].sort())
    const rows = await one.listRun('run')
    assert.deepEqual(
      rows.map(({ seq }) => seq).sort((a, b) => a - b),
      ids.map((_, index) => index + 1),
    )
  })

  withTwo('a reader of both gets every row once, whatever is written meanwhile', async (one, other) => {
    const writes = [one, other].map(async (journal, side) => {
      for (let seq = 1; seq <= 60; seq += 1) {
        const ref = await journal.insertToolCall(effect(seq, { nodeId: `side ${side}` }))
        if (seq % 3 === 0) await journal.updateToolCall(ref, done)
      }
    })
    const seen: string[] = []
    let cursor: string | undefined
    let isOver = false
    const written = Promise.all(writes).then(() => (isOver = true))
    for (let empty = 0, end = Date.now() + 30_000; empty < 2;) {
      assert.ok(Date.now() < end, 'the writers do not end')
      const wasOver = isOver
      const { rows, cursor: next } = await one.readSince(cursor, 7)
      cursor = next
      seen.push(...rows.map(({ nodeId, seq }) => `${nodeId} ${seq}`))
      if (wasOver && rows.length === 0) empty += 1
      else await new Promise((resolve) => setTimeout(resolve, 1))
    }
    await written
    assert.equal(seen.length, 120)
    assert.equal(new Set(seen).size, 120)
  })

  withTwo('reading goes on from a cursor, from the end, or from the number of a row', async (one, other) => {
    for (const seq of [1, 2]) await one.insertToolCall(effect(seq, done))
    const all = await other.readSince(undefined, 10)
    assert.deepEqual(
      all.rows.map(({ seq }) => seq),
      [1, 2],
    )
    assert.deepEqual((await other.readSince(all.cursor, 10)).rows, [])
    const { cursor, rows } = await other.readSince('end', 10)
    assert.deepEqual(rows, [])
    await one.insertToolCall(effect(3, done))
    for (const from of [cursor, all.cursor])
      assert.deepEqual(
        (await other.readSince(from, 10)).rows.map(({ seq }) => seq),
        [3],
      )
    const number = String(all.rows[0]?.row)
    assert.deepEqual(
      (await other.readSince(number, 10)).rows.map(({ seq }) => seq),
      [2, 3],
    )
    assert.equal(await codeOf(() => other.readSince('no cursor', 10)), 'INVALID_INPUT')
  })

  withTwo('a tail of one shows the rows of the other, and again with their outcome', async (one, other) => {
    // What a store makes at its first use is made before the tail looks for its end.
    await Promise.all([one.lastRow(), other.lastRow()])
    const signal = AbortSignal.timeout(10_000)
    const tail = one.tail({ after: 'end', signal, pollMs: 5 })
    const first = tail.next()
    await new Promise((resolve) => setTimeout(resolve, 30))
    const ref = await other.insertToolCall(effect(1))
    assertRow((await first).value ?? undefined, { seq: 1, status: 'started' })
    const second = tail.next()
    await other.updateToolCall(ref, done)
    assertRow((await second).value ?? undefined, { seq: 1, status: 'success' })
    await tail.return()
  })
}
