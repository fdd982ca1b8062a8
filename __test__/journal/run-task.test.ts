import { setTimeout as pause } from 'node:timers/promises'
import { createTools, defineTool, getToolContext, ToolError, type Journal, type RunTaskOptions, type Task } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openTaskScene } from '../support/task-scene.ts'

const send = defineTool({
  name: 'email.send',
  schema: z.object({ to: z.string() }),
  sideEffect: true,
  idempotent: false,
  execute: async ({ to }, ctx) => `${to} ${ctx.idempotencyKey}`,
})
const sendUnkeyed = defineTool({
  name: 'fax.send',
  schema: z.object({}),
  sideEffect: true,
  idempotent: true,
  execute: (_args) => 'sent',
})

/** An attempt that makes a call and then fails. */
const failing = async (tool: { execute(args: never): unknown }, args: object = {}): Promise<void> => {
  await tool.execute(args as never)
  throw new Error('the model went away')
}

const codeOf = async (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    (value) => value,
    (error: unknown) => (ToolError.isInstance(error) ? error.code : error),
  )

describe('runTask', () => {
  test('provides the context, and gives what the function gives', async () => {
    const { fixture, run } = await openTaskScene()
    const given = await run(
      async (task) => {
        const { runId, nodeId, iteration, attempt, rootDir, allowNetwork, maxOutputBytes, timeoutMs, seq } = getToolContext() ?? {}
        expect({ runId, nodeId, iteration, attempt }).toEqual({ runId: 'run', nodeId: 'node', iteration: 2, attempt: 1 })
        expect({ rootDir, allowNetwork, maxOutputBytes, timeoutMs, seq }).toEqual({
          rootDir: fixture.root,
          allowNetwork: true,
          maxOutputBytes: 5000,
          timeoutMs: 100,
          seq: 0,
        })
        expect(task).toMatchObject({ runId: 'run', nodeId: 'node', iteration: 2, attempt: 1, warning: null, priorEffects: [] })
        expect(task.idempotencyKey).toBe('smithers:run:node:2')
        return 'given'
      },
      { iteration: 2, allowNetwork: true, maxOutputBytes: 5000, toolTimeoutMs: 100 },
    )
    expect(given).toBe('given')
    expect(getToolContext()).toBeUndefined()
  })

  test('records every call, of built-in tools and of your own, in order', async () => {
    const { fixture, run, rows } = await openTaskScene()
    const { write, read, bash } = createTools()
    await run(async () => {
      await write.execute({ path: 'a.txt', content: 'hello' })
      await read.execute({ path: 'a.txt' }, { toolCallId: 'call-7' })
      await send.execute({ to: 'me' })
      await bash.execute({ cmd: 'false' }).catch(() => undefined)
    })
    expect(fixture.text('a.txt')).toBe('hello')
    expect(await rows()).toMatchObject([
      { attempt: 1, seq: 1, toolName: 'write', status: 'success', outputJson: '"ok"', sideEffect: true, idempotent: false },
      { attempt: 1, seq: 2, toolName: 'read', status: 'success', outputJson: '"hello"', sideEffect: false, callToken: 'call-7' },
      {
        attempt: 1,
        seq: 3,
        toolName: 'email.send',
        status: 'success',
        outputJson: '"me smithers:run:node:0"',
        idempotencyKey: 'smithers:run:node:0',
      },
      { attempt: 1, seq: 4, toolName: 'bash', status: 'error', acted: true, outputJson: null },
    ])
    const error = JSON.parse((await rows())[3]?.errorJson ?? '') as unknown
    expect(error).toMatchObject({ name: 'ToolError', code: 'TOOL_COMMAND_FAILED', details: { exitCode: 1 } })
  })

  test('attempts count on by themselves; a call of an earlier attempt is warned of, once', async () => {
    const { run } = await openTaskScene()
    await expect(run((task) => (expect(task.prompt('go')).toBe('go'), failing(send, { to: 'me' })))).rejects.toThrow('went away')
    const warning = `[smithers:tool-resume-warning] Previous attempts in this task already ran non-idempotent side effects.
Those side effects may already have happened before the interruption or retry.
Do not blindly call them again. Verify external state first or continue from the prior result.
Smithers will reuse the same ctx.idempotencyKey for defineTool retries.
A registered revert handler can compensate discard-time travel, but does not make forward replay safe.
Previously recorded effects:
- tool email.send (attempt 1, seq 1, status succeeded)
  on {"to":"me"}`
    await run((task) => {
      expect(task.attempt).toBe(2)
      expect(task.warning).toBe(warning)
      expect(task.prompt('go')).toBe(`${warning}\n\ngo`)
      expect(task.prompt(task.prompt('go'))).toBe(`${warning}\n\ngo`)
      const said = { role: 'assistant', content: 'hm' } as const
      const once = task.messages([said])
      expect(once).toEqual([said, { role: 'user', content: warning }])
      expect(task.messages(once)).toEqual(once)
      const inParts = [{ role: 'user', content: [{ type: 'text', text: task.prompt('x') }] }] as const
      expect(task.messages(inParts)).toEqual(inParts)
    })
  })

  test('the warning names five effects, their states, and how many more there are', async () => {
    const { run, journal } = await openTaskScene()
    const undoable = defineTool({
      name: 'order',
      schema: z.object({ n: z.number() }),
      sideEffect: true,
      execute: ({ n }, _ctx) => {
        if (n === 2) throw new Error('no')
      },
      revert: async () => undefined,
    })
    await run(async () => {
      for (const n of [1, 2, 3, 4, 5, 6, 7]) await undoable.execute({ n }).catch(() => undefined)
    })
    await journal.insertToolCall({ runId: 'run', nodeId: 'node', attempt: 1, seq: 9, toolName: 'x', sideEffect: true })
    await run((task) => {
      const lines = task.warning?.split('\n').slice(5)
      expect(lines).toEqual([
        'Previously recorded effects:',
        '- tool order (attempt 1, seq 1, status succeeded, registered revert handler)',
        '  on {"n":1}',
        '- tool order (attempt 1, seq 2, status unknown, registered revert handler)',
        '  on {"n":2}',
        '- tool order (attempt 1, seq 3, status succeeded, registered revert handler)',
        '  on {"n":3}',
        '- tool order (attempt 1, seq 4, status succeeded, registered revert handler)',
        '  on {"n":4}',
        '- tool order (attempt 1, seq 5, status succeeded, registered revert handler)',
        '  on {"n":5}',
        '- ...and 3 more',
      ])
    })
  })

  test('no warning for reads, idempotent effects and calls that were refused', async () => {
    const { fixture, run, rows } = await openTaskScene()
    const { read, write, edit, bash } = createTools()
    fixture.put('a', 'one\n')
    const refused = [
      () => write.execute({ path: '../x', content: '' }),
      () => write.execute({ path: 'a', content: 'x'.repeat(200_001) }),
      () => edit.execute({ path: 'a', patch: '@@ -1 +1 @@\n-two\n+three\n' }),
      () => edit.execute({ path: 'missing', patch: '@@ -1 +1 @@\n-two\n+three\n' }),
      () => bash.execute({ cmd: 'curl', args: ['https://example.org'] }),
      () => bash.execute({ cmd: 'git', args: ['push'] }),
      () => bash.execute({ cmd: 'no-such-program' }),
      () => bash.execute({ cmd: '' }),
    ]
    await run(async () => {
      await read.execute({ path: 'a' })
      await sendUnkeyed.execute({})
      for (const call of refused) await expect(call()).rejects.toThrow()
    })
    const stored = await rows()
    expect(stored.slice(2).map(({ status, acted }) => ({ status, acted }))).toEqual(refused.map(() => ({ status: 'error', acted: false })))
    await run((task) => expect(task.warning).toBeNull())
  })

  test('two attempts never run at the same time; the next begins when the first has ended', async () => {
    const { run } = await openTaskScene()
    let end: () => void = () => undefined
    let first: Promise<void> = Promise.resolve()
    await new Promise<void>((started) => {
      first = run(() => {
        started()
        return new Promise<void>((resolve) => (end = resolve))
      })
    })
    expect(await codeOf(run(() => 'ran'))).toBe('JOURNAL_TASK_LOCKED')
    expect(await run(() => 'another iteration', { iteration: 1 })).toBe('another iteration')
    end()
    await first
    expect(await run(() => 'ran')).toBe('ran')
  })

  test('an abort ends the task and stops its calls; the task is free afterwards', async () => {
    const { run, rows } = await openTaskScene()
    const { bash } = createTools()
    const controller = new AbortController()
    const slow = run(() => bash.execute({ cmd: 'sleep', args: ['30'] }), { signal: controller.signal })
    await expect.poll(async () => (await rows()).length).toBe(1)
    controller.abort(new Error('enough'))
    await expect(slow).rejects.toThrow('enough')
    expect(await rows()).toMatchObject([{ toolName: 'bash', status: 'unknown', acted: true }])
    await run((task) => expect(task.warning).toContain('- tool bash (attempt 1, seq 1, status unknown)'))
    await expect(run(() => 1, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before')
  })

  test('an attempt that fails stops the calls that still run, and waits for them', async () => {
    const { run, rows } = await openTaskScene()
    const { bash } = createTools()
    const started = performance.now()
    await expect(
      run(async () => {
        bash.execute({ cmd: 'sleep', args: ['30'] }).catch(() => undefined)
        await expect.poll(async () => (await rows()).length).toBe(1)
        throw new Error('failed')
      }),
    ).rejects.toThrow('failed')
    expect(performance.now() - started).toBeLessThan(10_000)
    expect(await rows()).toMatchObject([{ status: 'unknown' }])
  })

  test('a call after the end of its task is refused', async () => {
    const { run, rows } = await openTaskScene()
    let late: Promise<unknown> = Promise.resolve()
    await run(() => {
      late = pause(50).then(() => codeOf(send.execute({ to: 'me' }) as Promise<unknown>))
    })
    expect(await late).toBe('TASK_ENDED')
    expect(await rows()).toEqual([])
  })

  test('an attempt that goes on in another process counts on where it was', async () => {
    const { run, rows } = await openTaskScene()
    const keys: unknown[] = []
    const pay = defineTool({
      name: 'pay',
      schema: z.object({}),
      sideEffect: true,
      execute: (_args, ctx) => void keys.push(ctx.callIdempotencyKey),
    })
    await run(() => pay.execute({}), { attempt: 1 })
    await run(
      (task) => {
        // What this attempt did before it went on may have to be told, too.
        expect(task.warning).toContain('- tool pay (attempt 1, seq 1, status succeeded)')
        return pay.execute({})
      },
      { attempt: 1 },
    )
    expect((await rows()).map(({ attempt, seq, ordinal }) => [attempt, seq, ordinal])).toEqual([
      [1, 1, 1],
      [1, 2, 2],
    ])
    expect(new Set(keys).size).toBe(2)
    // The next attempt begins from the front, with the same keys.
    await run(async () => {
      await pay.execute({})
      await pay.execute({})
    })
    expect(keys.slice(2)).toEqual(keys.slice(0, 2))
  })

  test.each<[Partial<Record<keyof RunTaskOptions, unknown>>, RegExp]>([
    [{ runId: '' }, /runId/u],
    [{ nodeId: 5 }, /nodeId/u],
    [{ iteration: -1 }, /iteration/u],
    [{ attempt: 0 }, /attempt/u],
    [{ onReplayUnsafe: 'maybe' }, /onReplayUnsafe/u],
    [{ replay: 'all' }, /replay/u],
    [{ approved: 1 }, /approved/u],
    [{ journal: {} }, /journal/u],
    [{ rootDir: '' }, /rootDir/u],
  ])('refuses %j', async (more, message) => {
    const { run } = await openTaskScene()
    await expect(run(() => 1, more as Partial<RunTaskOptions>)).rejects.toThrow(message)
  })
})

describe('onReplayUnsafe', () => {
  const unkeyed = defineTool({
    name: 'unkeyed',
    schema: z.object({}),
    sideEffect: true,
    idempotent: false,
    execute: (..._none: []) => 'done',
  })

  test('"warn" is the default: the attempt goes on', async () => {
    const { run } = await openTaskScene()
    await run(() => failing(unkeyed)).catch(() => undefined)
    await run((task) => {
      expect(task.requiresApproval).toBe(false)
      expect(task.prompt('go')).toContain('unkeyed')
    })
  })

  test('"refuse" does not begin the attempt', async () => {
    const { run } = await openTaskScene()
    await run(() => failing(unkeyed)).catch(() => undefined)
    let ran = false
    const refused = run(() => (ran = true), { onReplayUnsafe: 'refuse' })
    await expect(refused).rejects.toMatchObject({
      code: 'REPLAY_UNSAFE',
      details: { attempt: 2, effects: [{ toolName: 'unkeyed', attempt: 1, seq: 1, status: 'success' }] },
    })
    expect(ran).toBe(false)
    // The task is free again.
    await run(() => 1)
  })

  test('a parameter that is only named protects nothing; a key that is read, or declared, does', async () => {
    const kinds: [string, boolean, object][] = [
      ['named', false, { execute: (_args: unknown, _ctx: unknown) => 'done' }],
      ['context', false, { execute: (_args: unknown, { signal }: { signal?: AbortSignal }) => String(signal?.aborted) }],
      ['read', true, { execute: (_args: unknown, { callIdempotencyKey }: { callIdempotencyKey: string | null }) => callIdempotencyKey }],
      ['task’s key read', true, { execute: (_args: unknown, ctx: { idempotencyKey: string | null }) => ctx.idempotencyKey }],
      ['declared', true, { execute: (_args: unknown, _ctx: unknown) => 'done', usesIdempotencyKey: true }],
    ]
    for (const [name, isProtected, more] of kinds) {
      const { run } = await openTaskScene()
      const tool = defineTool({ name: `key ${name}`, schema: z.object({}), sideEffect: true, ...(more as { execute: () => string }) })
      await run(() => failing(tool)).catch(() => undefined)
      const second = await codeOf(run(() => 1, { onReplayUnsafe: 'refuse' }))
      expect([name, second]).toEqual([name, isProtected ? 1 : 'REPLAY_UNSAFE'])
    }
  })

  test('"approve" does nothing before task.approve()', async () => {
    const { run, rows } = await openTaskScene()
    const { read } = createTools()
    await run(() => failing(unkeyed)).catch(() => undefined)
    await run(
      async (task) => {
        expect(task.requiresApproval).toBe(true)
        expect(() => task.prompt('go')).toThrow(/REPLAY_UNSAFE/u)
        expect(() => task.messages([])).toThrow(/REPLAY_UNSAFE/u)
        expect(await codeOf(unkeyed.execute({}))).toBe('REPLAY_UNSAFE')
        // What only looks may look: how else could anybody decide?
        expect(await codeOf(read.execute({ path: 'missing' }))).toBe('TOOL_FILE_NOT_FOUND')
        expect((await rows()).filter((row) => row.attempt === 2).map((row) => row.toolName)).toEqual(['read'])
        task.approve()
        expect(task.requiresApproval).toBe(false)
        expect(task.prompt('go')).toContain('unkeyed')
        expect(await unkeyed.execute({})).toBe('done')
      },
      { onReplayUnsafe: 'approve' },
    )
  })

  test('an approval given before: of everything, or of exactly these effects', async () => {
    const { run } = await openTaskScene()
    await run(() => failing(unkeyed)).catch(() => undefined)
    const asked = (approved: boolean | string) =>
      run((task) => ({ required: task.requiresApproval, fingerprint: task.fingerprint }), { onReplayUnsafe: 'approve', approved })
    const { required, fingerprint } = await asked(false)
    expect(required).toBe(true)
    expect(fingerprint).toMatch(/^[0-9a-f]{64}$/u)
    expect((await asked(true)).required).toBe(false)
    expect((await asked(fingerprint ?? '')).required).toBe(false)
    expect((await asked('another')).required).toBe(true)
  })

  test('a keyed effect needs no approval, only the warning; a command and a write have no key', async () => {
    const { fixture, run } = await openTaskScene()
    const { write } = createTools()
    await run(() => failing(send, { to: 'me' })).catch(() => undefined)
    await run(
      (task) => {
        expect(task.requiresApproval).toBe(false)
        expect(task.warning).toContain('email.send')
      },
      { onReplayUnsafe: 'approve' },
    )
    await run(() => failing(write, { path: 'a', content: '' })).catch(() => undefined)
    expect(fixture.text('a')).toBe('')
    expect(await codeOf(run(() => 1, { onReplayUnsafe: 'refuse' }))).toBe('REPLAY_UNSAFE')
  })
})

describe('rows of older programs, which do not say whether a tool has side effects', () => {
  const oldRows = async (journal: Journal): Promise<void> => {
    for (const [index, toolName] of ['old.mail', 'read', 'write', 'nobody-knows'].entries()) {
      await journal.insertToolCall({ runId: 'run', nodeId: 'node', attempt: 1, seq: index + 1, toolName, status: 'success' })
    }
  }

  test('the tool of that name says so; one that nobody knows does not count', async () => {
    const { run, journal } = await openTaskScene()
    await oldRows(journal)
    // As older programs wrote them.
    const given = await journal.listToolCalls('run', 'node', 0)
    const silent = given.map((row) => ({ ...row, sideEffect: null, idempotent: null }))
    const old: Journal = Object.assign(Object.create(journal) as Journal, { priorEffects: async () => silent })
    for (const method of ['lockTask', 'recover', 'lastAttempt', 'insertToolCall', 'listToolCalls', 'tail'] as const) {
      Object.assign(old, { [method]: (journal[method] as (...args: unknown[]) => unknown).bind(journal) })
    }
    const mail = defineTool({ name: 'old.mail', schema: z.object({}), sideEffect: true, execute: (_args, _ctx) => 1 })
    const named = (task: Task): string[] => task.priorEffects.map((row) => row.toolName)
    expect(await run(named, { journal: old })).toEqual(['write'])
    expect(await run(named, { journal: old, tools: { post: mail } })).toEqual(['old.mail', 'write'])
  })
})
