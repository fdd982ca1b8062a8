import type { Journal, NewToolCall, TaskId } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'

const task: TaskId = { runId: 'run', nodeId: 'node', iteration: 0 }
const call = (seq: number, more: Partial<NewToolCall> = {}): NewToolCall => ({
  ...task,
  attempt: 1,
  seq,
  toolName: 'pay',
  inputJson: `{"n":${seq}}`,
  sideEffect: true,
  idempotent: false,
  ...more,
})
const done = { status: 'success', outputJson: '"ok"' } as const

/** What every store must do. `open` gives a journal on an empty store. */
export function journalConformance(name: string, open: () => Promise<Journal>): void {
  const opened = async (): Promise<Journal> => {
    const journal = await open()
    onTestFinished(() => journal.close())
    return journal
  }

  describe(`a journal store: ${name}`, () => {
    test('a call begins and ends in one row, with all of its fields', async () => {
      const journal = await opened()
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
      expect(begun).toMatchObject([{ ...expected, status: 'started', finishedAtMs: null, outputJson: null, errorJson: null }])
      await journal.updateToolCall(ref, { ...done, finishedAtMs: 2000 })
      const ended = await journal.listToolCalls('run', 'node', 0)
      expect(ended).toMatchObject([{ ...expected, status: 'success', finishedAtMs: 2000, outputJson: '"ok"', isCut: false }])
      expect(ended[0]?.row).toBe(begun[0]?.row)
    })

    test('defaults: iteration 0, no side effect, idempotent, no key', async () => {
      const journal = await opened()
      const before = Date.now()
      await journal.insertToolCall({ runId: 'run', nodeId: 'node', attempt: 1, seq: 1, toolName: 'read', ...done })
      await journal.flush()
      const [row] = await journal.listToolCalls('run', 'node', 0)
      expect(row).toMatchObject({ iteration: 0, sideEffect: false, idempotent: true, acceptsIdempotencyKey: false })
      expect(row).toMatchObject({ idempotencyKey: null, callToken: null, inputJson: null, hasRevert: false })
      expect(row?.startedAtMs).toBeGreaterThanOrEqual(before)
      expect(row?.finishedAtMs).toBeGreaterThanOrEqual(before)
    })

    test('an outcome is an output or an error', async () => {
      const journal = await opened()
      const error = { status: 'error', errorJson: '{"name":"Error"}' } as const
      await journal.updateToolCall(await journal.insertToolCall(call(1)), error)
      await journal.updateToolCall(await journal.insertToolCall(call(2)), { ...error, acted: false })
      await journal.updateToolCall(await journal.insertToolCall(call(3)), { ...error, status: 'unknown' })
      await journal.insertToolCall(call(4, error))
      expect(await journal.listToolCalls('run', 'node', 0)).toMatchObject([
        { status: 'error', acted: true, errorJson: '{"name":"Error"}', outputJson: null },
        { status: 'error', acted: false },
        { status: 'unknown', acted: true, errorJson: '{"name":"Error"}' },
        { status: 'error', acted: true },
      ])
    })

    test('an output that is text is kept as JSON', async () => {
      const journal = await opened()
      const outputText = 'a "line"\n'
      await journal.updateToolCall(await journal.insertToolCall(call(1)), { status: 'success', outputText })
      await journal.insertToolCall(call(2, { status: 'success', outputText, sideEffect: false }))
      const rows = await journal.listToolCalls('run', 'node', 0)
      expect(rows.map((row) => row.outputJson)).toEqual([JSON.stringify(outputText), JSON.stringify(outputText)])
    })

    test('a call is found by its key alone', async () => {
      const journal = await opened()
      await journal.insertToolCall(call(1))
      await journal.updateToolCall({ ...task, attempt: 1, seq: 1 }, done)
      expect(await journal.listToolCalls('run', 'node', 0)).toMatchObject([{ status: 'success' }])
    })

    test('a key is used once, an outcome is recorded once, and both refusals change nothing', async () => {
      const journal = await opened()
      const attempt = async (act: () => unknown): Promise<unknown> => {
        try {
          return await act()
        } catch (error) {
          return (error as { code?: unknown }).code
        }
      }
      const ref = await journal.insertToolCall(call(1))
      expect(await attempt(() => journal.insertToolCall(call(1, { toolName: 'other' })))).toBe('JOURNAL_DUPLICATE_CALL')
      await journal.updateToolCall(ref, done)
      expect(await attempt(() => journal.updateToolCall(ref, { status: 'error' }))).toBe('JOURNAL_CALL_FINISHED')
      const missing = { ...task, attempt: 7, seq: 7 }
      expect(await attempt(() => journal.updateToolCall(missing, done))).toBe('JOURNAL_CALL_MISSING')
      expect(await journal.listToolCalls('run', 'node', 0)).toMatchObject([{ toolName: 'pay', status: 'success' }])
    })

    test('tokens stay apart: a second call with the same token has its row', async () => {
      const journal = await opened()
      await journal.insertToolCall(call(1, { callToken: 'call-0' }))
      await journal.insertToolCall(call(2, { callToken: 'call-0' }))
      const tokens = (await journal.listToolCalls('run', 'node', 0)).map((row) => row.callToken)
      expect(tokens[0]).toBe('call-0')
      expect(new Set(tokens).size).toBe(2)
    })

    test('rows of a task by attempt and number, whatever the order they came in; of no other task', async () => {
      const journal = await opened()
      for (const [attempt, seq] of [
        [2, 1],
        [1, 2],
        [1, 1],
        [2, 2],
      ] as const)
        await journal.insertToolCall(call(seq, { attempt }))
      for (const other of [{ runId: 'x' }, { nodeId: 'x' }, { iteration: 1 }]) await journal.insertToolCall(call(1, other))
      const rows = await journal.listToolCalls('run', 'node', 0)
      expect(rows.map(({ attempt, seq }) => [attempt, seq])).toEqual([
        [1, 1],
        [1, 2],
        [2, 1],
        [2, 2],
      ])
    })

    test('a run as it began, and the other way round', async () => {
      const journal = await opened()
      await journal.insertToolCall(call(1, { startedAtMs: 30 }))
      await journal.insertToolCall(call(1, { nodeId: 'first', startedAtMs: 10 }))
      await journal.insertToolCall(call(2, { startedAtMs: 30 }))
      const places = (rows: { nodeId: string; seq: number }[]) => rows.map(({ nodeId, seq }) => `${nodeId} ${seq}`)
      const order = ['first 1', 'node 1', 'node 2']
      expect(places(await journal.listRun('run'))).toEqual(order)
      expect(places(await journal.listRun('run', { reverse: true }))).toEqual(order.toReversed())
    })

    test('runs with their numbers, the earliest first', async () => {
      const journal = await opened()
      await journal.insertToolCall(call(1, { runId: 'b', startedAtMs: 20, ...done, finishedAtMs: 25 }))
      await journal.insertToolCall(call(1, { runId: 'a', startedAtMs: 10, status: 'error', finishedAtMs: 15 }))
      await journal.insertToolCall(call(2, { runId: 'a', startedAtMs: 12 }))
      const runs = await journal.listRuns()
      expect(runs.toSorted((one, other) => one.startedAtMs - other.startedAtMs)).toEqual([
        { runId: 'a', calls: 2, started: 1, succeeded: 0, failed: 1, startedAtMs: 10, finishedAtMs: 15 },
        { runId: 'b', calls: 1, started: 0, succeeded: 1, failed: 0, startedAtMs: 20, finishedAtMs: 25 },
      ])
    })

    test('rows after a number, a few at a time; rows by their numbers; the last number', async () => {
      const journal = await opened()
      expect(await journal.lastRow()).toBe(0)
      for (const seq of [1, 2, 3]) await journal.insertToolCall(call(seq))
      const first = await journal.readRows(0, 2)
      const rest = await journal.readRows(first[1]?.row ?? 0, 2)
      expect([...first, ...rest].map((row) => row.seq)).toEqual([1, 2, 3])
      expect(await journal.lastRow()).toBe(rest[0]?.row)
      const numbers = [rest[0]?.row ?? 0, first[0]?.row ?? 0, 99_999]
      expect((await journal.rows(numbers)).map((row) => row.seq)).toEqual([1, 3])
      expect(await journal.rows([])).toEqual([])
    })

    test('the last attempt', async () => {
      const journal = await opened()
      expect(await journal.lastAttempt(task)).toBeUndefined()
      await journal.insertToolCall(call(5))
      await journal.insertToolCall(call(2, { attempt: 3 }))
      expect(await journal.lastAttempt(task)).toEqual({ attempt: 3, seq: 2 })
    })

    test('prior effects: what earlier attempts did or may have done, and must not be repeated', async () => {
      const journal = await opened()
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
      expect(effects.map((row) => row.seq)).toEqual([1, 2, 3, 4])
      expect(await journal.priorEffects(task, 1)).toEqual([])
      expect(await journal.priorEffects(task, 3)).toHaveLength(5)
    })

    test('the recorded call: the same tool, arguments and ordinal; the last success', async () => {
      const journal = await opened()
      const paid = (seq: number, more: Partial<NewToolCall>) => call(seq, { argsHash: 'h', ordinal: 1, ...done, ...more })
      await journal.insertToolCall(paid(1, { outputJson: '1' }))
      await journal.insertToolCall(paid(2, { ordinal: 2, outputJson: '2' }))
      await journal.insertToolCall(paid(1, { attempt: 2, outputJson: '3' }))
      await journal.insertToolCall(paid(1, { attempt: 3, status: 'error', outputJson: null }))
      expect(await journal.recordedCall(task, 'pay', 'h', 1)).toMatchObject({ attempt: 2, outputJson: '3' })
      expect(await journal.recordedCall(task, 'pay', 'h', 2)).toMatchObject({ attempt: 1, outputJson: '2' })
      for (const [tool, hash, ordinal] of [
        ['other', 'h', 1],
        ['pay', 'x', 1],
        ['pay', 'h', 3],
      ] as const) {
        expect(await journal.recordedCall(task, tool, hash, ordinal)).toBeUndefined()
      }
    })

    test('a task is locked once at a time, another one is not', async () => {
      const journal = await opened()
      const lock = await journal.lockTask(task, 1)
      await expect(journal.lockTask(task, 2)).rejects.toMatchObject({ code: 'JOURNAL_TASK_LOCKED' })
      const other = await journal.lockTask({ ...task, iteration: 1 }, 1)
      await lock.release()
      await lock.release()
      await (await journal.lockTask(task, 2)).release()
      await other.release()
    })

    test('a call is undone once, and its row says how that ended', async () => {
      const journal = await opened()
      for (const seq of [1, 2]) await journal.insertToolCall(call(seq, { hasRevert: true, ...done }))
      const [one, two] = await journal.listRun('run')
      const [a, b] = [one?.row ?? 0, two?.row ?? 0]
      expect(await journal.claimRevert(a)).toMatchObject({ won: { seq: 1, revertStatus: 'reverting' } })
      expect(await journal.claimRevert(a)).toEqual({ taken: 'reverting' })
      expect(await journal.finishRevert(a)).toBe(true)
      expect(await journal.finishRevert(a, '{}')).toBe(false)
      await journal.claimRevert(b)
      expect(await journal.finishRevert(b, '{"name":"Error"}')).toBe(true)
      expect(await journal.claimRevert(b)).toEqual({ taken: 'revert-failed' })
      expect(await journal.listRun('run')).toMatchObject([
        { revertStatus: 'reverted', revertedAtMs: expect.any(Number), revertErrorJson: null },
        { revertStatus: 'revert-failed', revertedAtMs: null, revertErrorJson: '{"name":"Error"}' },
      ])
      // What was undone needs no warning; what was not undone does.
      expect((await journal.priorEffects(task, 2)).map((row) => row.seq)).toEqual([2])
    })

    test('what cannot be undone is not claimed', async () => {
      const journal = await opened()
      await journal.insertToolCall(call(1, done))
      await journal.insertToolCall(call(2, { hasRevert: true }))
      await journal.insertToolCall(call(3, { hasRevert: true, status: 'error', acted: false }))
      for (const { row } of await journal.listRun('run')) {
        expect(await journal.claimRevert(row)).toEqual({ nothing: expect.any(String) })
      }
      expect((await journal.listRun('run')).map((row) => row.revertStatus)).toEqual([null, null, null])
    })

    test('texts come back as they were: quotes, line ends, non-ASCII, NUL', async () => {
      const journal = await opened()
      const text = JSON.stringify('quo"te\n\u2028 tschüß 日本 😀 \u0000 end')
      await journal.insertToolCall(call(1, { inputJson: text, ...done, outputJson: text, nodeId: 'nö:de|"x"' }))
      expect(await journal.listToolCalls('run', 'nö:de|"x"', 0)).toMatchObject([{ inputJson: text, outputJson: text }])
    })

    test('nothing is running here that recover could not see', async () => {
      const journal = await opened()
      await journal.insertToolCall(call(1))
      expect(await journal.recover()).toMatchObject({ calls: [], reverts: [] })
      expect(await journal.listToolCalls('run', 'node', 0)).toMatchObject([{ status: 'started' }])
    })

    test('everything in parallel: nothing is lost', async () => {
      const journal = await opened()
      await Promise.all(
        Array.from({ length: 200 }, async (_, index) => {
          const ref = await journal.insertToolCall(call(index + 1))
          await journal.updateToolCall(ref, done)
        }),
      )
      const rows = await journal.listToolCalls('run', 'node', 0)
      expect(rows.map((row) => row.seq)).toEqual(Array.from({ length: 200 }, (_, index) => index + 1))
      expect(rows.every((row) => row.status === 'success')).toBe(true)
    })
  })
}
