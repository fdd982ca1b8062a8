/** What a store must do for one journal. */
import assert from 'node:assert/strict'
import type { Journal } from '../journal.js'
import type { ListRunsOptions, NewToolCall } from '../journal-store.js'
import { any, assertEqual, assertMatches, codeOf, done, effect as call, task, type TestRunner } from './runner.js'

export function singleJournalCases({ test }: TestRunner, open: () => Promise<Journal>): void {
  const withOne = (name: string, run: (journal: Journal) => Promise<void>): void =>
    void test(name, async () => {
      const journal = await open()
      try {
        await run(journal)
      } finally {
        await journal.close()
      }
    })

  withOne('a call begins and ends in one row, with all of its fields', async (journal) => {
    const ref = await journal.insertToolCall(
      call(1, {
        startedAtMs: 1000,
        acceptsIdempotencyKey: true,
        hasRevert: true,
        idempotencyKey: 'key',
        callToken: 'token',
        argsHash: 'hash',
        ordinal: 2,
      }),
    )
    const expected = {
      ...task,
      attempt: 1,
      seq: 1,
      toolName: 'pay',
      inputJson: '{"n":1}',
      startedAtMs: 1000,
      sideEffect: true,
      idempotent: false,
      acceptsIdempotencyKey: true,
      hasRevert: true,
      idempotencyKey: 'key',
      callToken: 'token',
      argsHash: 'hash',
      ordinal: 2,
      kind: 'tool',
      acted: true,
    }
    const begun = await journal.listToolCalls('run', 'node', 0)
    assertMatches(begun, [{ ...expected, status: 'started', finishedAtMs: null, outputJson: null, errorJson: null }])
    await journal.updateToolCall(ref, { ...done, finishedAtMs: 2000 })
    const ended = await journal.listToolCalls('run', 'node', 0)
    assertMatches(ended, [{ ...expected, status: 'success', finishedAtMs: 2000, outputJson: '"ok"', isCut: false }])
    assert.equal(ended[0]?.row, begun[0]?.row)
  })

  withOne('defaults: iteration 0, no side effect, idempotent, no key', async (journal) => {
    const before = Date.now()
    await journal.insertToolCall({ runId: 'run', nodeId: 'node', attempt: 1, seq: 1, toolName: 'read', ...done })
    await journal.flush()
    const [row] = await journal.listToolCalls('run', 'node', 0)
    assertMatches(row, { iteration: 0, sideEffect: false, idempotent: true, acceptsIdempotencyKey: false })
    assertMatches(row, { idempotencyKey: null, callToken: null, inputJson: null, hasRevert: false })
    assert.ok(Number(row?.startedAtMs) >= before)
    assert.ok(Number(row?.finishedAtMs) >= before)
  })

  withOne('an outcome is an output or an error', async (journal) => {
    const error = { status: 'error', errorJson: '{"name":"Error"}' } as const
    await journal.updateToolCall(await journal.insertToolCall(call(1)), error)
    await journal.updateToolCall(await journal.insertToolCall(call(2)), { ...error, acted: false })
    await journal.updateToolCall(await journal.insertToolCall(call(3)), { ...error, status: 'unknown' })
    await journal.insertToolCall(call(4, error))
    assertMatches(await journal.listToolCalls('run', 'node', 0), [
      { status: 'error', acted: true, errorJson: '{"name":"Error"}', outputJson: null },
      { status: 'error', acted: false },
      { status: 'unknown', acted: true, errorJson: '{"name":"Error"}' },
      { status: 'error', acted: true },
    ])
  })

  withOne('a call that has read its key is protected by it, whatever its outcome is', async (journal) => {
    const error = { status: 'error', errorJson: '{"name":"Error"}' } as const
    await journal.updateToolCall(await journal.insertToolCall(call(1)), { ...done, keyRead: true })
    await journal.updateToolCall(await journal.insertToolCall(call(2)), { ...error, keyRead: true })
    await journal.updateToolCall(await journal.insertToolCall(call(3)), { ...done, keyRead: false })
    await journal.updateToolCall(await journal.insertToolCall(call(4, { acceptsIdempotencyKey: true })), done)
    await journal.insertToolCall(call(5, { ...done, keyRead: true }))
    assertEqual(
      (await journal.listRun('run')).map((row) => row.acceptsIdempotencyKey),
      [true, true, false, true, true],
    )
  })

  withOne('an output that is text is kept as JSON', async (journal) => {
    const outputText = 'a "line"\n'
    await journal.updateToolCall(await journal.insertToolCall(call(1)), { status: 'success', outputText })
    await journal.insertToolCall(call(2, { status: 'success', outputText, sideEffect: false }))
    const rows = await journal.listToolCalls('run', 'node', 0)
    assertEqual(
      rows.map((row) => row.outputJson),
      [JSON.stringify(outputText), JSON.stringify(outputText)],
    )
  })

  withOne('a call is found by its key alone', async (journal) => {
    await journal.insertToolCall(call(1))
    await journal.updateToolCall({ ...task, attempt: 1, seq: 1 }, done)
    assertMatches(await journal.listToolCalls('run', 'node', 0), [{ status: 'success' }])
  })

  withOne('a key is used once, an outcome is recorded once, and both refusals change nothing', async (journal) => {
    const ref = await journal.insertToolCall(call(1))
    assert.equal(await codeOf(() => journal.insertToolCall(call(1, { toolName: 'other' }))), 'JOURNAL_DUPLICATE_CALL')
    await journal.updateToolCall(ref, done)
    assert.equal(await codeOf(() => journal.updateToolCall(ref, { status: 'error' })), 'JOURNAL_CALL_FINISHED')
    const missing = { ...task, attempt: 7, seq: 7 }
    assert.equal(await codeOf(() => journal.updateToolCall(missing, done)), 'JOURNAL_CALL_MISSING')
    assertMatches(await journal.listToolCalls('run', 'node', 0), [{ toolName: 'pay', status: 'success' }])
  })

  withOne('tokens stay apart: a second call with the same token has its row', async (journal) => {
    await journal.insertToolCall(call(1, { callToken: 'call-0' }))
    await journal.insertToolCall(call(2, { callToken: 'call-0' }))
    const tokens = (await journal.listToolCalls('run', 'node', 0)).map((row) => row.callToken)
    assert.equal(tokens[0], 'call-0')
    assert.equal(new Set(tokens).size, 2)
  })

  withOne('rows of a task by attempt and number, whatever the order they came in; of no other task', async (journal) => {
    for (const [attempt, seq] of [
      [2, 1],
      [1, 2],
      [1, 1],
      [2, 2],
    ] as const)
      await journal.insertToolCall(call(seq, { attempt }))
    for (const other of [{ runId: 'x' }, { nodeId: 'x' }, { iteration: 1 }]) await journal.insertToolCall(call(1, other))
    const rows = await journal.listToolCalls('run', 'node', 0)
    assertEqual(
      rows.map(({ attempt, seq }) => [attempt, seq]),
      [
        [1, 1],
        [1, 2],
        [2, 1],
        [2, 2],
      ],
    )
  })

  withOne('a run as it began, and the other way round', async (journal) => {
    await journal.insertToolCall(call(1, { startedAtMs: 30 }))
    await journal.insertToolCall(call(1, { nodeId: 'first', startedAtMs: 10 }))
    await journal.insertToolCall(call(2, { startedAtMs: 30 }))
    const places = (rows: { nodeId: string; seq: number }[]) => rows.map(({ nodeId, seq }) => `${nodeId} ${seq}`)
    const order = ['first 1', 'node 1', 'node 2']
    assertEqual(places(await journal.listRun('run')), order)
    assertEqual(places(await journal.listRun('run', { reverse: true })), order.toReversed())
  })

  withOne('runs with their numbers, the earliest first', async (journal) => {
    await journal.insertToolCall(call(1, { runId: 'b', startedAtMs: 20, ...done, finishedAtMs: 25 }))
    await journal.insertToolCall(call(1, { runId: 'a', startedAtMs: 10, status: 'error', finishedAtMs: 15 }))
    await journal.insertToolCall(call(2, { runId: 'a', startedAtMs: 12 }))
    const runs = await journal.listRuns()
    assertEqual(
      runs.toSorted((one, other) => one.startedAtMs - other.startedAtMs),
      [
        { runId: 'a', calls: 2, started: 1, succeeded: 0, failed: 1, startedAtMs: 10, finishedAtMs: 15 },
        { runId: 'b', calls: 1, started: 0, succeeded: 1, failed: 0, startedAtMs: 20, finishedAtMs: 25 },
      ],
    )
  })

  withOne('pages of runs, of which some began in the same millisecond', async (journal) => {
    const started = { a: 10, b: 20, c: 20, d: 20, e: 30 }
    for (const [runId, startedAtMs] of Object.entries(started)) {
      // The first row of a run is not always the one that was written first.
      await journal.insertToolCall(call(1, { runId, startedAtMs: startedAtMs + 40, ...done, finishedAtMs: startedAtMs + 50 }))
      await journal.insertToolCall(call(2, { runId, startedAtMs }))
    }
    const all = await journal.listRuns()
    assertEqual(
      all.map(({ runId }) => runId),
      ['a', 'b', 'c', 'd', 'e'],
    )
    const pages: string[][] = []
    let before: ListRunsOptions['before']
    for (;;) {
      const page = await journal.listRuns({ limit: 2, ...(before && { before }) })
      if (page.length === 0) break
      pages.push(page.map(({ runId }) => runId))
      assertEqual(
        page,
        all.filter(({ runId }) => page.some((run) => run.runId === runId)),
      )
      before = page[0]
    }
    assertEqual(pages, [['d', 'e'], ['b', 'c'], ['a']])
    assertEqual(
      (await journal.listRuns({ limit: 2, beforeMs: 30 })).map(({ runId }) => runId),
      ['c', 'd'],
    )
  })

  withOne('rows after a number, a few at a time; rows by their numbers; the last number', async (journal) => {
    assert.equal(await journal.lastRow(), 0)
    for (const seq of [1, 2, 3]) await journal.insertToolCall(call(seq))
    const first = await journal.readRows(0, 2)
    const rest = await journal.readRows(first[1]?.row ?? 0, 2)
    assertEqual(
      [...first, ...rest].map((row) => row.seq),
      [1, 2, 3],
    )
    assert.equal(await journal.lastRow(), rest[0]?.row)
    const numbers = [rest[0]?.row ?? 0, first[0]?.row ?? 0, 99_999]
    assertEqual(
      (await journal.rows(numbers)).map((row) => row.seq),
      [1, 3],
    )
    assertEqual(await journal.rows([]), [])
  })

  withOne('the last attempt', async (journal) => {
    assert.equal(await journal.lastAttempt(task), undefined)
    await journal.insertToolCall(call(5))
    await journal.insertToolCall(call(2, { attempt: 3 }))
    assertEqual(await journal.lastAttempt(task), { attempt: 3, seq: 2 })
  })

  withOne('prior effects: what earlier attempts did or may have done, and must not be repeated', async (journal) => {
    const kinds: Partial<NewToolCall>[] = [
      done,
      {},
      { status: 'error' },
      { status: 'unknown' },
      { status: 'error', acted: false },
      { ...done, idempotent: true },
      { ...done, sideEffect: false },
    ]
    for (const [index, kind] of kinds.entries()) await journal.insertToolCall(call(index + 1, kind))
    await journal.insertToolCall(call(1, { attempt: 2, ...done }))
    await journal.insertToolCall(call(1, { iteration: 1, ...done }))
    const effects = await journal.priorEffects(task, 2)
    assertEqual(
      effects.map((row) => row.seq),
      [1, 2, 3, 4],
    )
    assertEqual(await journal.priorEffects(task, 1), [])
    assert.equal((await journal.priorEffects(task, 3)).length, 5)
  })

  withOne('the recorded call: the same tool, arguments and ordinal; the last success', async (journal) => {
    const paid = (seq: number, more: Partial<NewToolCall>) => call(seq, { argsHash: 'h', ordinal: 1, ...done, ...more })
    await journal.insertToolCall(paid(1, { outputJson: '1' }))
    await journal.insertToolCall(paid(2, { ordinal: 2, outputJson: '2' }))
    await journal.insertToolCall(paid(1, { attempt: 2, outputJson: '3' }))
    await journal.insertToolCall(paid(1, { attempt: 3, status: 'error', outputJson: null }))
    assertMatches(await journal.recordedCall(task, 'pay', 'h', 1), { attempt: 2, outputJson: '3' })
    assertMatches(await journal.recordedCall(task, 'pay', 'h', 2), { attempt: 1, outputJson: '2' })
    for (const [tool, hash, ordinal] of [
      ['other', 'h', 1],
      ['pay', 'x', 1],
      ['pay', 'h', 3],
    ] as const) {
      assert.equal(await journal.recordedCall(task, tool, hash, ordinal), undefined)
    }
  })

  withOne('a task is locked once at a time, another one is not', async (journal) => {
    const lock = await journal.lockTask(task, 1)
    assert.equal(await codeOf(() => journal.lockTask(task, 2)), 'JOURNAL_TASK_LOCKED')
    const other = await journal.lockTask({ ...task, iteration: 1 }, 1)
    await lock.release()
    await lock.release()
    await (await journal.lockTask(task, 2)).release()
    await other.release()
  })

  withOne('a call is undone once, and its row says how that ended', async (journal) => {
    for (const seq of [1, 2]) await journal.insertToolCall(call(seq, { hasRevert: true, ...done }))
    const [one, two] = await journal.listRun('run')
    const [a, b] = [one?.row ?? 0, two?.row ?? 0]
    assertMatches(await journal.claimRevert(a), { won: { seq: 1, revertStatus: 'reverting' } })
    assertEqual(await journal.claimRevert(a), { taken: 'reverting' })
    assert.equal(await journal.finishRevert(a), true)
    assert.equal(await journal.finishRevert(a, '{}'), false)
    await journal.claimRevert(b)
    assert.equal(await journal.finishRevert(b, '{"name":"Error"}'), true)
    assertEqual(await journal.claimRevert(b), { taken: 'revert-failed' })
    assertMatches(await journal.listRun('run'), [
      { revertStatus: 'reverted', revertedAtMs: any('number'), revertErrorJson: null },
      { revertStatus: 'revert-failed', revertedAtMs: null, revertErrorJson: '{"name":"Error"}' },
    ])
    // What was undone needs no warning; what was not undone does.
    assertEqual(
      (await journal.priorEffects(task, 2)).map((row) => row.seq),
      [2],
    )
  })

  withOne('what cannot be undone is not claimed', async (journal) => {
    await journal.insertToolCall(call(1, done))
    await journal.insertToolCall(call(2, { hasRevert: true }))
    await journal.insertToolCall(call(3, { hasRevert: true, status: 'error', acted: false }))
    for (const { row } of await journal.listRun('run')) {
      assertEqual(await journal.claimRevert(row), { nothing: any('string') })
    }
    assertEqual(
      (await journal.listRun('run')).map((row) => row.revertStatus),
      [null, null, null],
    )
  })

  withOne('texts come back as they were: quotes, line ends, non-ASCII, NUL', async (journal) => {
    const text = JSON.stringify('quo"te\n\u2028 tschüß 日本 😀 \u0000 end')
    await journal.insertToolCall(call(1, { inputJson: text, ...done, outputJson: text, nodeId: 'nö:de|"x"' }))
    assertMatches(await journal.listToolCalls('run', 'nö:de|"x"', 0), [{ inputJson: text, outputJson: text }])
  })

  withOne('nothing is running here that recover could not see', async (journal) => {
    await journal.insertToolCall(call(1))
    assertMatches(await journal.recover(), { calls: [], reverts: [] })
    assertMatches(await journal.listToolCalls('run', 'node', 0), [{ status: 'started' }])
  })

  withOne('everything in parallel: nothing is lost', async (journal) => {
    await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const ref = await journal.insertToolCall(call(index + 1))
        await journal.updateToolCall(ref, done)
      }),
    )
    const rows = await journal.listToolCalls('run', 'node', 0)
    assertEqual(
      rows.map((row) => row.seq),
      Array.from({ length: 200 }, (_, index) => index + 1),
    )
    assert.equal(
      rows.every((row) => row.status === 'success'),
      true,
    )
  })
}
