import { createTools, defineTool, openJournal, replayRun, runTask, type Task } from 'toolwright'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { makeSandbox } from '../support/sandbox.ts'

/** Two tasks' worth of calls, and how often each tool of one's own has run. */
async function scene(maxOutputBytes = 200_000) {
  const fixture = makeSandbox()
  fixture.put('notes.txt', 'first note\n')
  const journal = await openJournal(`file:${fixture.at('../runs.db')}`, { maxOutputBytes })
  onTestFinished(() => journal.close())
  const ran: string[] = []
  const make = <T>(name: string, execute: (n: number) => T, idempotent = false) =>
    defineTool({
      name,
      schema: z.object({ n: z.number() }),
      sideEffect: true,
      idempotent,
      execute: async ({ n }, _ctx) => {
        ran.push(`${name} ${n}`)
        return execute(n)
      },
    })
  const pay = make('pay', (n) => ({ paid: n }))
  const fail = make('fail', (n): number => {
    throw Object.assign(new RangeError(`no ${n}`), { code: 'E_NO' })
  })
  const when = make('when', () => new Date(0))
  const long = make('long', () => 'x'.repeat(500))
  const put = make('put', () => 'x'.repeat(500), true)
  const tools = createTools()
  const run = <T>(fn: (task: Task) => T | Promise<T>, more: object = {}) =>
    runTask({ journal, runId: 'run', nodeId: 'node', rootDir: fixture.root, ...more }, fn)
  return { fixture, journal, ran, pay, fail, when, long, put, tools, run }
}

describe("replay: 'recorded'", () => {
  test('an identical finished call gives its recorded output and does not run; another one runs', async () => {
    const { ran, pay, run, journal } = await scene()
    const attempt = async () => [await pay.execute({ n: 1 }), await pay.execute({ n: 1 }), await pay.execute({ n: 2 })]
    const outputs = await run(attempt)
    expect(await run(attempt, { replay: 'recorded' })).toEqual(outputs)
    expect(ran).toEqual(['pay 1', 'pay 1', 'pay 2'])
    // A third equal one was never made.
    await run(async () => [...(await attempt()), await pay.execute({ n: 1 })], { replay: 'recorded' })
    expect(ran).toEqual(['pay 1', 'pay 1', 'pay 2', 'pay 1'])
    expect((await journal.listRun('run')).map(({ attempt: of, seq, ordinal }) => [of, seq, ordinal])).toEqual([
      [1, 1, 1],
      [1, 2, 2],
      [1, 3, 1],
      [2, 1, 3],
    ])
  })

  test('a call of a built-in tool that was refused leaves its number to the next equal one', async () => {
    const { journal, tools, run } = await scene()
    const edit = () => tools.edit.execute({ path: 'new.txt', patch: '@@ -1 +1 @@\n-a\n+b\n' })
    await run(
      async () => {
        await expect(edit()).rejects.toMatchObject({ name: 'ToolError' })
        await tools.write.execute({ path: 'new.txt', content: 'a\n' })
        await edit()
      },
      { replay: 'recorded' },
    )
    const edits = (await journal.listRun('run')).filter(({ toolName }) => toolName === 'edit')
    expect(edits.map(({ acted, ordinal }) => [acted, ordinal])).toEqual([
      [false, 1],
      [true, 1],
    ])
  })

  test('without it every call runs', async () => {
    const { ran, pay, run } = await scene()
    for (const _ of [1, 2]) await run(() => pay.execute({ n: 1 }))
    expect(ran).toEqual(['pay 1', 'pay 1'])
  })

  test('a call that failed, or was cut short, is made again', async () => {
    const { ran, fail, run, journal } = await scene()
    await run(() => fail.execute({ n: 1 })).catch(() => undefined)
    await run(() => fail.execute({ n: 1 }), { replay: 'recorded' }).catch(() => undefined)
    expect(ran).toEqual(['fail 1', 'fail 1'])
    expect(await journal.listRun('run')).toHaveLength(2)
  })

  test('built-in tools too: a read gives what was read then', async () => {
    const { fixture, tools, run } = await scene()
    const attempt = async () => {
      const before = await tools.read.execute({ path: 'notes.txt' })
      await tools.write.execute({ path: 'notes.txt', content: 'second\n' })
      return [before, await tools.read.execute({ path: 'notes.txt' })]
    }
    expect(await run(attempt)).toEqual(['first note\n', 'second\n'])
    fixture.put('notes.txt', 'third\n')
    expect(await run(attempt, { replay: 'recorded' })).toEqual(['first note\n', 'second\n'])
    expect(fixture.text('notes.txt')).toBe('third\n')
  })

  test('an output that was not kept whole: an error for an effect, another call for what may be repeated', async () => {
    const { fixture, ran, long, put, when, tools, run } = await scene(100)
    fixture.put('long.txt', 'x'.repeat(500))
    const all = [long, when, put]
    await run(async () => {
      for (const tool of all) await tool.execute({ n: 1 })
      await tools.read.execute({ path: 'long.txt' })
    })
    await run(
      async () => {
        for (const tool of [long, when]) {
          await expect(tool.execute({ n: 1 })).rejects.toMatchObject({
            code: 'REPLAY_INCOMPLETE',
            details: { attempt: 1, runId: 'run', nodeId: 'node' },
          })
        }
        expect(await put.execute({ n: 1 })).toHaveLength(500)
        expect(await tools.read.execute({ path: 'long.txt' })).toHaveLength(500)
      },
      { replay: 'recorded' },
    )
    expect(ran).toEqual(['long 1', 'when 1', 'put 1', 'put 1'])
  })

  test('a tool that yields its results gives the last one', async () => {
    const { run, ran } = await scene()
    const count = defineTool({
      name: 'count',
      schema: z.object({}),
      sideEffect: true,
      async *execute(_args, _ctx) {
        ran.push('count')
        yield 1
        yield 2
      },
    })
    const attempt = async () => {
      const seen = []
      for await (const value of count.execute({})) seen.push(value)
      return seen
    }
    expect(await run(attempt)).toEqual([1, 2])
    expect(await run(attempt, { replay: 'recorded' })).toEqual([2])
    expect(ran).toEqual(['count'])
  })
})

describe('replayRun', () => {
  test('gives every call of a run again, in order, without any effect', async () => {
    const { fixture, journal, ran, pay, fail, when, tools, run } = await scene()
    await run(async () => {
      await pay.execute({ n: 1 })
      await fail.execute({ n: 2 }).catch(() => undefined)
      await when.execute({ n: 3 })
      await tools.write.execute({ path: 'new.txt', content: 'secret' })
      await tools.bash.execute({ cmd: 'sh', args: ['-c', 'echo out; exit 3'] }).catch(() => undefined)
    })
    const runs = ran.length
    fixture.put('new.txt', 'changed since')
    const calls = []
    for await (const call of replayRun(journal, 'run')) calls.push(call)
    expect(calls).toMatchObject([
      {
        index: 0,
        nodeId: 'node',
        attempt: 1,
        seq: 1,
        toolName: 'pay',
        input: { n: 1 },
        status: 'success',
        output: { paid: 1 },
        isComplete: true,
      },
      { toolName: 'fail', status: 'error', error: { name: 'RangeError', message: 'no 2', code: 'E_NO' }, isComplete: true },
      { toolName: 'when', status: 'success', output: undefined, isComplete: false },
      { toolName: 'write', input: { path: 'new.txt', contentBytes: 6 }, output: 'ok' },
      { toolName: 'bash', error: { name: 'ToolError', code: 'TOOL_COMMAND_FAILED', details: { exitCode: 3, output: 'out\n' } } },
    ])
    expect(ran).toHaveLength(runs)
    expect(fixture.text('new.txt')).toBe('changed since')
    const aborted = replayRun(journal, 'run', { signal: AbortSignal.abort(new Error('enough')) })
    await expect(aborted[Symbol.asyncIterator]().next()).rejects.toThrow('enough')
  })

  test('a run that the journal does not know is an error that names it and the next move', async () => {
    const { journal, run, pay } = await scene()
    await run(() => pay.execute({ n: 1 }))
    const unknown = { code: 'INVALID_INPUT', details: { runId: 'rum' }, message: expect.stringMatching(/`rum`.*listRuns\(\)/u) }
    await expect(replayRun(journal, 'rum')[Symbol.asyncIterator]().next()).rejects.toMatchObject(unknown)
    const ran = vi.fn()
    await expect(replayRun(journal, 'rum').drive(ran)).rejects.toMatchObject(unknown)
    expect(ran).not.toHaveBeenCalled()
  })

  test('a run of which the journal has only the rows of an engine for whole tasks has no calls, and is there', async () => {
    const { journal } = await scene()
    const rows = await journal.listRun('run')
    expect(rows).toEqual([])
    const known = Object.assign(Object.create(journal), { listRun: async () => [{ kind: 'task' }] }) as typeof journal
    for await (const _ of replayRun(known, 'run')) throw new Error('it has no calls')
  })

  test('drives code through a run during which the clock was set back', async () => {
    const { journal, pay, run } = await scene()
    onTestFinished(() => void vi.restoreAllMocks())
    let now = Date.now()
    vi.spyOn(Date, 'now').mockImplementation(() => (now -= 1000))
    const program = () => run(async () => [await pay.execute({ n: 1 }), await pay.execute({ n: 2 }), await pay.execute({ n: 3 })])
    const given = await program()
    expect((await journal.listRun('run')).map(({ seq }) => seq)).toEqual([1, 2, 3])
    expect(await replayRun(journal, 'run').drive(program)).toEqual(given)
  })

  test('drives code through a run: outputs and errors as they were, nothing runs, nothing is recorded', async () => {
    const { fixture, journal, ran, pay, fail, tools, run } = await scene()
    const program = async () => {
      const errors: unknown[] = []
      const note = (error: Error & { code?: string }) => errors.push([error.name, error.code, error.message])
      const paid = await pay.execute({ n: 1 })
      await fail.execute({ n: 2 }).catch(note)
      await tools.write.execute({ path: '../x', content: '' }).catch(note)
      const reads = await Promise.all(['notes.txt', 'notes.txt'].map((path) => tools.read.execute({ path })))
      return { paid, errors, reads, printed: await tools.bash.execute({ cmd: 'echo', args: ['hi'] }) }
    }
    const given = await run(program)
    const rows = await journal.listRun('run')
    fixture.put('notes.txt', 'changed\n')
    expect(await replayRun(journal, 'run').drive(program)).toEqual(given)
    expect(ran).toEqual(['pay 1', 'fail 2'])
    expect(await journal.listRun('run')).toEqual(rows)
    expect(await journal.listRuns()).toHaveLength(1)
  })

  test.each<[string, () => number[], string]>([
    ['with other arguments', () => [1, 5, 3], 'at call 2 of 3: pay {"n":2} was recorded, pay {"n":5} was called'],
    ['in another order', () => [1, 3, 2], 'at call 2 of 3'],
    ['too many', () => [1, 2, 3, 4], 'the run has ended, pay {"n":4} was called'],
    ['too few', () => [1, 2], 'pay {"n":3} was recorded, the code has ended'],
  ])('stops at the first call that differs: %s', async (_how, numbers, message) => {
    const { journal, ran, pay, run } = await scene()
    await run(async () => {
      for (const n of [1, 2, 3]) await pay.execute({ n })
    })
    const made: number[] = []
    const driven = replayRun(journal, 'run').drive(async () => {
      for (const n of numbers()) {
        // As an agent does: an error of a tool is an answer like any other.
        await pay.execute({ n }).then(
          () => made.push(n),
          () => undefined,
        )
      }
      return 'done'
    })
    await expect(driven).rejects.toMatchObject({ code: 'REPLAY_DIFFERS', message: expect.stringContaining(message) })
    const same = numbers().findIndex((n, index) => n !== [1, 2, 3][index])
    expect(made).toEqual(numbers().slice(0, same === -1 ? undefined : same))
    expect(ran).toHaveLength(3)
  })

  test('another tool differs, whatever its arguments', async () => {
    const { journal, pay, fail, run } = await scene()
    await run(() => pay.execute({ n: 1 }))
    const driven = replayRun(journal, 'run').drive(() => fail.execute({ n: 1 }))
    await expect(driven).rejects.toMatchObject({
      code: 'REPLAY_DIFFERS',
      details: { index: 0, expected: { toolName: 'pay', seq: 1 }, found: { toolName: 'fail', input: '{"n":1}' } },
    })
  })

  test('calls that overlapped may come in another order', async () => {
    const { journal, ran, run } = await scene()
    const wait = defineTool({
      name: 'wait',
      schema: z.object({ ms: z.number() }),
      execute: async ({ ms }) => {
        ran.push('wait')
        await new Promise((resolve) => setTimeout(resolve, ms))
        return ms
      },
    })
    await run(() => Promise.all([wait.execute({ ms: 40 }), wait.execute({ ms: 30 }), wait.execute({ ms: 20 })]))
    const driven = await replayRun(journal, 'run').drive(() =>
      Promise.all([wait.execute({ ms: 20 }), wait.execute({ ms: 40 }), wait.execute({ ms: 30 })]),
    )
    expect(driven).toEqual([20, 40, 30])
    expect(ran).toHaveLength(3)
  })

  test('a whole program with its tasks and retries, whatever run it thinks it is', async () => {
    const { journal, ran, pay, run } = await scene()
    const program = async (runId: string) => {
      const prompts: string[] = []
      for (const attempt of [1, 2]) {
        await run(
          async (task) => {
            prompts.push(`${task.attempt} ${task.prompt('go').length}`)
            await pay.execute({ n: task.attempt })
            if (attempt === 1) throw new Error('again')
          },
          { runId },
        ).catch(() => undefined)
      }
      await run(() => pay.execute({ n: 9 }), { runId, nodeId: 'other' })
      return prompts
    }
    const given = await program('run')
    expect(await replayRun(journal, 'run').drive(() => program('some other run'))).toEqual(given)
    expect(ran).toEqual(['pay 1', 'pay 2', 'pay 9'])
    expect(await journal.listRuns()).toHaveLength(1)
  })

  test('an outcome that is not whole stops it', async () => {
    const { journal, long, run } = await scene(100)
    await run(() => long.execute({ n: 1 }))
    await journal.insertToolCall({ runId: 'open', nodeId: 'n', attempt: 1, seq: 1, toolName: 'long', inputJson: '{"n":1}' })
    for (const runId of ['run', 'open']) {
      const driven = replayRun(journal, runId).drive(() => long.execute({ n: 1 }))
      await expect(driven).rejects.toMatchObject({ code: 'REPLAY_INCOMPLETE', details: { runId } })
    }
  })

  test('an abort ends it', async () => {
    const { journal, pay, run } = await scene()
    await run(() => pay.execute({ n: 1 }))
    const controller = new AbortController()
    const driven = replayRun(journal, 'run', { signal: controller.signal }).drive(() => {
      controller.abort(new Error('enough'))
      return new Promise(() => undefined)
    })
    await expect(driven).rejects.toThrow('enough')
  })
})
