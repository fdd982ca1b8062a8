import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { createTools, defineTool, openJournal, runTask, type ToolCallRow } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { makeSandbox } from '../support/sandbox.ts'
import { script } from '../support/scripted-model.ts'

async function scene() {
  const fixture = makeSandbox()
  const journal = await openJournal(fixture.at('../runs.db'))
  onTestFinished(() => journal.close())
  const run = <T>(fn: () => T | Promise<T>, more = {}) =>
    runTask({ journal, runId: 'run', nodeId: 'node', rootDir: fixture.root, ...more }, fn)
  return { fixture, journal, run }
}

describe('an agent and its journal', () => {
  test('every call is in it, in order, with the ids of the model; also one that the SDK retries', async () => {
    const { fixture, journal, run } = await scene()
    fixture.put('src/a.js', 'one\n')
    const turns = script(
      [
        { tool: 'grep', input: { pattern: 'one' }, id: 'g' },
        { tool: 'read', input: { path: 'src/a.js' }, id: 'r' },
      ],
      [{ tool: 'edit', input: { path: 'src/a.js', patch: '@@ -1 +1 @@\n-one\n+two\n' }, id: 'e' }],
      [{ tool: 'read', input: { path: 'missing' }, id: 'm' }],
      'done',
    )
    const model = new MockLanguageModelV4({ doGenerate: turns })
    await run(() => new ToolLoopAgent({ model, tools: createTools() }).generate({ prompt: 'go' }))
    const rows = await journal.listRun('run')
    expect(rows.map(({ toolName, callToken, status }) => [toolName, callToken, status])).toEqual([
      ['grep', 'g', 'success'],
      ['read', 'r', 'success'],
      ['edit', 'e', 'success'],
      ['read', 'm', 'error'],
    ])
  })

  test('an abort of the agent: what had begun has its end, what had not has no row', async () => {
    const { journal, run } = await scene()
    const turns = script([
      { tool: 'bash', input: { cmd: 'sh', args: ['-c', 'echo begun; sleep 30'] } },
      { tool: 'read', input: { path: 'missing' } },
    ])
    const model = new MockLanguageModelV4({ doGenerate: turns })
    const controller = new AbortController()
    const agent = run(() => new ToolLoopAgent({ model, tools: createTools() }).generate({ prompt: 'go', abortSignal: controller.signal }))
    await expect.poll(async () => (await journal.listRun('run')).length).toBe(2)
    await pause(100)
    controller.abort()
    await expect(agent).rejects.toThrow()
    const bash = (await journal.listRun('run')).find((row) => row.toolName === 'bash')
    expect(bash).toMatchObject({ status: 'unknown', acted: true })
    // What it had printed is kept.
    expect(JSON.parse(bash?.errorJson ?? '')).toMatchObject({ name: 'AbortError', output: 'begun\n' })
  })
})

describe('calls of every kind', () => {
  test('64 at once: a row each, numbered in the order of their calls', async () => {
    const { fixture, journal, run } = await scene()
    const { write, read, edit, grep, bash } = createTools()
    for (let n = 0; n < 64; n += 1) fixture.put(`f${n}`, `${n}\n`)
    await run(() =>
      Promise.all(
        Array.from({ length: 64 }, (_, n): Promise<unknown> => {
          if (n % 16 === 0) return bash.execute({ cmd: 'echo', args: [`${n}`] })
          if (n % 4 === 0) return grep.execute({ pattern: `^${n}$`, path: `f${n}` })
          if (n % 4 === 1) return write.execute({ path: `w${n}`, content: `${n}` })
          if (n % 4 === 2) return edit.execute({ path: `f${n}`, patch: `@@ -1 +1 @@\n-${n}\n+${n}!\n` })
          return read.execute({ path: `f${n}` })
        }),
      ),
    )
    const rows = await journal.listToolCalls('run', 'node', 0)
    expect(rows.map((row) => row.seq)).toEqual(Array.from({ length: 64 }, (_, n) => n + 1))
    expect(rows.every((row) => row.status === 'success')).toBe(true)
    const names = ['grep', 'write', 'edit', 'read']
    expect(rows.map((row) => row.toolName)).toEqual(rows.map((_, n) => (n % 16 === 0 ? 'bash' : names[n % 4])))
    for (const row of rows) if (row.toolName === 'grep') expect(row.outputJson).toBe(JSON.stringify(`f${row.seq - 1}:1:${row.seq - 1}\n`))
  })

  test('a tool that yields its results: its last one, its error, and a reader that breaks off', async () => {
    const { journal, run } = await scene()
    const count = defineTool({
      name: 'count',
      schema: z.object({ to: z.number(), fails: z.boolean().optional() }),
      sideEffect: true,
      async *execute({ to, fails }, _ctx) {
        for (let n = 1; n <= to; n += 1) yield n
        if (fails === true) throw new Error('on purpose')
      },
    })
    await run(async () => {
      for await (const _ of count.execute({ to: 3 }));
      await expect(
        (async () => {
          for await (const _ of count.execute({ to: 1, fails: true }));
        })(),
      ).rejects.toThrow('on purpose')
      for await (const _ of count.execute({ to: 5 })) break
    })
    expect(await journal.listRun('run')).toMatchObject([
      { status: 'success', outputJson: '3' },
      { status: 'error', acted: true },
      { status: 'unknown', acted: true },
    ])
  })

  test('a command that streams: one row, begun before it runs', async () => {
    const { journal, run } = await scene()
    const { bash } = createTools({ streamOutput: true })
    const states: string[] = []
    await run(async () => {
      for await (const _ of bash.execute({ cmd: 'sh', args: ['-c', 'echo a; sleep 0.1; echo b'] })) {
        states.push(...(await journal.listRun('run')).map((row) => row.status))
      }
    })
    expect(states[0]).toBe('started')
    expect(await journal.listRun('run')).toMatchObject([{ status: 'success', outputJson: '"a\\nb\\n"' }])
  })

  test('a timeout is an error with what was printed', async () => {
    const { journal, run } = await scene()
    const { bash } = createTools()
    await run(() => bash.execute({ cmd: 'sh', args: ['-c', 'echo begun; sleep 20'] }).catch(() => undefined), { toolTimeoutMs: 1_500 })
    const [row] = await journal.listRun('run')
    expect(row).toMatchObject({ status: 'error', acted: true })
    expect(JSON.parse(row?.errorJson ?? '')).toMatchObject({ code: 'PROCESS_TIMEOUT', message: expect.stringContaining('begun') })
  })

  test('an abort before the call leaves no row; one between row and call is no effect', async () => {
    const { journal, run } = await scene()
    const ran: number[] = []
    const act = defineTool({ name: 'act', schema: z.object({}), sideEffect: true, execute: (_args, _ctx) => ran.push(1) })
    await run(async () => {
      await expect(act.execute({}, { abortSignal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no')
      const controller = new AbortController()
      const call = act.execute({}, { abortSignal: controller.signal })
      controller.abort(new Error('now'))
      await Promise.resolve(call).catch(() => undefined)
    })
    const rows = await journal.listRun('run')
    expect(ran).toEqual([])
    expect(rows.map(({ status, acted }) => ({ status, acted }))).toEqual([{ status: 'error', acted: false }])
  })

  test('a tool that calls tools: a row each', async () => {
    const { fixture, journal, run } = await scene()
    fixture.put('a', 'text')
    const { read } = createTools()
    const outer = defineTool({
      name: 'outer',
      schema: z.object({}),
      sideEffect: true,
      execute: (_args, _ctx) => read.execute({ path: 'a' }),
    })
    await run(() => outer.execute({}))
    expect((await journal.listRun('run')).map(({ seq, toolName, outputJson }) => [seq, toolName, outputJson])).toEqual([
      [1, 'outer', '"text"'],
      [2, 'read', '"text"'],
    ])
  })
})

describe('tail', () => {
  const key = { runId: 'run', nodeId: 'node', attempt: 1, toolName: 'x', sideEffect: true }

  test('gives rows as they are written, and again with their outcome, until it is aborted', async () => {
    const { journal } = await scene()
    const one = await journal.insertToolCall({ ...key, seq: 1 })
    await journal.insertToolCall({ ...key, seq: 2, status: 'success' })
    const seen: [number, ToolCallRow['status']][] = []
    const controller = new AbortController()
    const tail = (async () => {
      for await (const { seq, status } of journal.tail({ signal: controller.signal, pollMs: 5 })) seen.push([seq, status])
    })()
    await expect.poll(() => seen.length).toBe(2)
    await journal.insertToolCall({ ...key, seq: 3, runId: 'another' })
    await expect.poll(() => seen.length).toBe(3)
    await journal.updateToolCall(one, { status: 'error' })
    await expect.poll(() => seen.length).toBe(4)
    controller.abort(new Error('enough'))
    await expect(tail).rejects.toThrow('enough')
    expect(seen).toEqual([
      [1, 'started'],
      [2, 'success'],
      [3, 'started'],
      [1, 'error'],
    ])
  })

  test('without follow it ends; of one run; from the end; more rows than are read at once', async () => {
    const { journal } = await scene()
    for (let seq = 1; seq <= 1_201; seq += 1) await journal.insertToolCall({ ...key, seq, runId: seq % 2 === 0 ? 'even' : 'odd' })
    const count = async (options: object): Promise<number> => {
      let rows = 0
      for await (const _ of journal.tail({ follow: false, ...options })) rows += 1
      return rows
    }
    expect(await count({})).toBe(1_201)
    expect(await count({ runId: 'even' })).toBe(600)
    expect(await count({ after: 1_000 })).toBe(201)
    expect(await count({ after: 'end' })).toBe(0)
    await expect(count({ signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before')
  })

  test('a reader that breaks off ends it', async () => {
    const { journal } = await scene()
    await journal.insertToolCall({ ...key, seq: 1 })
    for await (const row of journal.tail()) {
      expect(row.seq).toBe(1)
      break
    }
  })
})

describe('reads, which are written behind', () => {
  const program = (file: string, end: string) => `
    import { defineTool, openJournal, runTask } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
    import { z } from ${JSON.stringify(import.meta.resolve('zod'))}
    const journal = await openJournal(${JSON.stringify(file)})
    const look = defineTool({ name: 'look', schema: z.object({}), execute: () => 'seen' })
    await runTask({ journal, runId: 'run', nodeId: 'node' }, () => look.execute({}))
    ${end}
  `

  test.each([
    ['a process that ends by itself', ''],
    ['process.exit()', 'process.exit(0)'],
    ['an error that nobody catches', 'throw new Error("on purpose")'],
  ])('are written when it is the end: %s', async (_how, end) => {
    const { fixture, journal } = await scene()
    const file = fixture.at('../other.db')
    await new Promise<void>((resolve) => {
      const args = process.versions['bun'] === undefined ? ['--input-type=module', '-e'] : ['-e']
      execFile(process.execPath, [...args, program(file, end)], { cwd: process.cwd() }, () => resolve())
    })
    const other = await openJournal(file)
    onTestFinished(() => other.close())
    expect(await other.listRun('run')).toMatchObject([{ toolName: 'look', status: 'success' }])
    expect(await journal.listRuns()).toEqual([])
  })

  test('a worker that ends writes its rows, and leaves the journals of others open', async () => {
    const { fixture, journal, run } = await scene()
    const file = fixture.at('../other.db')
    const worker = new Worker(fixture.put('worker.mjs', program(file, '')))
    await once(worker, 'exit')
    const other = await openJournal(file)
    onTestFinished(() => other.close())
    expect(await other.listRun('run')).toHaveLength(1)
    await run(() =>
      createTools()
        .read.execute({ path: 'missing' })
        .catch(() => undefined),
    )
    expect(await journal.listRun('run')).toHaveLength(1)
  })

  test('are seen by every listing, and by flush', async () => {
    const { fixture, journal, run } = await scene()
    fixture.put('a', 'text')
    await run(async () => {
      for (let n = 1; n <= 5; n += 1) {
        await createTools().read.execute({ path: 'a' })
        expect(await journal.listToolCalls('run', 'node', 0)).toHaveLength(n)
      }
    })
    await journal.flush()
    const reader = await openJournal(fixture.at('../runs.db'), { readOnly: true })
    onTestFinished(() => reader.close())
    expect(await reader.listRun('run')).toHaveLength(5)
  })
})
