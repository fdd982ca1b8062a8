import { spawnSync } from 'node:child_process'
import { openJournal, type Journal } from 'toolwright'
import { createSession, replaySession, SESSION_NODE, type Envelope, type RecordPart } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, dataOf, failureOf, manifest, openScene, rule, testTool } from '../scene.ts'

async function memoryJournal(options = {}): Promise<Journal> {
  const journal = await openJournal('memory:', options)
  onTestFinished(() => journal.close())
  return journal
}

async function collect(journal: Journal, id: string) {
  const all = []
  for await (const one of await replaySession(journal, id)) all.push(one)
  return all
}

describe('the recorder', () => {
  test('R68 every envelope is in the journal, failures included, before the caller has it', async () => {
    const journal = await memoryJournal()
    const { call, put, session } = await openScene({
      ...manifest([rule('* ** allow'), rule('* * allow'), rule('read no.txt deny')]),
      journal,
      watchdog: ({ tool }) => ({ action: tool === 'glob' ? 'deny' : 'allow', reason: 'no' }),
      tools: [
        testTool('throws', () => {
          throw new Error('x')
        }),
      ],
    })
    put('a.txt', 'a')
    const calls: [string, unknown, string][] = [
      ['read', { path: 'a.txt' }, 'ok'],
      ['read', { path: 7 }, 'invalid_arguments'],
      ['read', { path: '/etc/hostname' }, 'capability_refused'],
      ['read', { path: 'no.txt' }, 'permission_denied'],
      ['glob', { pattern: '*' }, 'watchdog_denied'],
      ['throws', {}, 'tool_failed'],
      ['none', {}, 'unknown_tool'],
      ['question', { questions: [{ question: 'q' }] }, 'question_unavailable'],
      ['write', { path: 'b.txt', content: 'b' }, 'ok'],
      ['todo', { todos: [] }, 'ok'],
    ]
    const given: Envelope[] = []
    for (const [index, [tool, args, code]] of calls.entries()) {
      given.push(await call(tool, args, { callId: `c${index}` }))
      expect(given.at(-1)?.metadata.code).toBe(code)
      expect(await journal.listRun(session.id)).toHaveLength(index + 1)
    }
    const rows = await journal.listToolCalls(session.id, SESSION_NODE, 0)
    expect(rows.map(({ toolName, callToken, status }) => [toolName, callToken, status])).toEqual(
      calls.map(([tool, , code], index) => [tool, `c${index}`, code === 'ok' ? 'success' : 'error']),
    )
    const again = await collect(journal, session.id)
    expect(again.map(({ envelope }) => JSON.stringify(envelope))).toEqual(given.map((envelope) => JSON.stringify(envelope)))
  })

  test('a row says how long its call waited for the user, which no replay shows', async () => {
    const journal = await memoryJournal()
    let answer = 'allow_once'
    const prompt = async () => {
      await new Promise((resolve) => setTimeout(resolve, 60))
      return answer as 'allow_once'
    }
    const { call, put, session } = await openScene({ ...manifest([rule('read ** allow')]), journal, host: { prompt } })
    put('a.txt', 'a')
    const given = [await call('write', { path: 'b.txt', content: 'b' }), await call('read', { path: 'a.txt' })]
    answer = 'reject_once'
    given.push(await call('write', { path: 'c.txt', content: 'c' }))
    const rows = await journal.listToolCalls(session.id, SESSION_NODE, 0)
    const waited = rows.map((row) => (JSON.parse(row.outputJson ?? row.errorJson ?? '') as { waited_ms?: number }).waited_ms)
    expect(waited).toEqual([expect.any(Number), undefined, expect.any(Number)])
    for (const ms of [waited[0], waited[2]]) expect(ms).toBeGreaterThanOrEqual(55)
    const again = await collect(journal, session.id)
    expect(again.map(({ envelope }) => JSON.stringify(envelope))).toEqual(given.map((envelope) => JSON.stringify(envelope)))
  })

  test('R68 an effect is in the journal before it happens', async () => {
    const journal = await memoryJournal()
    const statuses: string[] = []
    const tool = testTool(
      'acts',
      async () => {
        statuses.push(...(await journal.listRuns()).map(({ started }) => `started ${started}`))
        return 1
      },
      { sideEffect: true },
    )
    const { call } = await openScene({ journal, tools: [tool] })
    await call('acts', {})
    expect(statuses).toEqual(['started 1'])
  })

  test('texts of files are kept by size and hash; replay knows them all the same', async () => {
    const journal = await memoryJournal()
    const { call, session } = await openScene({ journal })
    await call('write', { path: 'a.txt', content: 'very secret' })
    await call('edit', { path: 'a.txt', old_string: 'secret', new_string: 'private' })
    const rows = await journal.listRun(session.id)
    expect(JSON.stringify(rows)).not.toMatch(/secret|private/u)
    expect(JSON.parse(rows[0]?.inputJson ?? '')).toMatchObject({
      path: 'a.txt',
      content_bytes: 11,
      content_sha256: expect.stringMatching(/^[0-9a-f]{64}$/u),
    })
    const replay = await replaySession(journal, session.id)
    await expect(replay.call('write', { path: 'a.txt', content: 'other' })).rejects.toMatchObject({ code: 'REPLAY_DIFFERS' })
  })

  test('R68 an envelope is kept whole, however long it is', async () => {
    const journal = await memoryJournal({ maxOutputBytes: 1_000 })
    const { call, put, session } = await openScene({ journal })
    // Characters that JSON writes as six.
    put('a.txt', '\u0001'.repeat(199_999))
    const given = await call('read', { path: 'a.txt' })
    expect(dataOf(given).content).toHaveLength(199_999)
    const [again] = await collect(journal, session.id)
    expect(JSON.stringify(again?.envelope)).toBe(JSON.stringify(given))
  })

  test('a call that cannot be recorded is not made', async () => {
    const journal = await memoryJournal()
    let ran = 0
    const { call } = await openScene({ journal, tools: [testTool('acts', () => (ran += 1), { sideEffect: true })] })
    await journal.close()
    expect(failureOf(await call('acts', {})).code).toBe('recording_failed')
    expect(ran).toBe(0)
  })

  test('onRecord is told of the call and of its envelope before the caller has it', async () => {
    const parts: RecordPart[] = []
    let finish: () => void = () => undefined
    const { call, session } = await openScene({
      onRecord: async (part) => {
        parts.push(part)
        if (part.type === 'result')
          await new Promise<void>((resolve) => {
            finish = resolve
          })
      },
    })
    let had = false
    const made = call('todo', { todos: [] }, { callId: 'c1' }).then((envelope) => {
      had = true
      return envelope
    })
    await expect.poll(() => parts.length).toBe(2)
    expect(had).toBe(false)
    finish()
    const envelope = await made
    const args = { todos: [] }
    expect(parts).toEqual([
      { type: 'call', session_id: session.id, call_id: 'c1', tool: 'todo', args },
      { type: 'result', session_id: session.id, call_id: 'c1', tool: 'todo', args, envelope },
    ])
  })

  test('an onRecord that fails at the start stops the call, and afterwards changes nothing', async () => {
    let ran = 0
    const tools = [testTool('runs', () => (ran += 1))]
    const before = await openScene({
      tools,
      onRecord: () => {
        throw new Error('full')
      },
    })
    expect(failureOf(await before.call('runs', {})).code).toBe('recording_failed')
    expect(ran).toBe(0)
    const after = await openScene({ tools, onRecord: ({ type }) => (type === 'result' ? Promise.reject(new Error('full')) : undefined) })
    expect(dataOf(await after.call('runs', {}))).toBe(1)
  })

  test('a session that is opened again goes on in the same run', async () => {
    const journal = await memoryJournal()
    for (const attempt of [1, 2]) {
      const { call, session } = await openScene({ id: 'again', journal })
      await call('todo', { todos: [] })
      await session.close()
      expect((await journal.listRun('again')).map((row) => row.attempt)).toEqual(attempt === 1 ? [1] : [1, 2])
    }
    expect(await collect(journal, 'again')).toHaveLength(2)
  })

  test('a session that is open twice has two attempts, and an attempt without calls is taken again', async () => {
    const journal = await memoryJournal()
    const open = () => openScene({ ...manifest(allowAll), id: 'twice', journal })
    const scenes = await Promise.all([open(), open(), open()])
    await scenes[0].session.close()
    scenes.push(await open())
    const writes = scenes.slice(1).map(async ({ call }, index) => dataOf(await call('write', { path: 'a', content: `${index}` })))
    await Promise.all(writes)
    const attempts = (await journal.listRun('twice')).map(({ attempt, seq, status }) => [attempt, seq, status])
    expect(attempts.toSorted()).toEqual([1, 2, 3].map((attempt) => [attempt, 1, 'success']))
  })
})

describe('replaySession', () => {
  async function recorded(ran: string[] = []) {
    const journal = await memoryJournal()
    const tool = testTool(
      'note',
      ({ n }: { n: number }) => {
        ran.push(String(n))
        return { n, at: performance.now() }
      },
      { sideEffect: true },
    )
    const { call, session } = await openScene({ journal, tools: [tool] })
    const given: Envelope[] = []
    for (const n of [1, 2, 3]) given.push(await call('note', { n }, { callId: `c${n}` }))
    await session.close()
    return { journal, given, id: session.id, tool, ran }
  }

  test('R68 gives the same bytes, duration_ms included, and runs nothing', async () => {
    const { journal, given, id, tool, ran } = await recorded()
    const replay = await replaySession(journal, id, { tools: [tool] })
    for (const [index, n] of [1, 2, 3].entries()) {
      expect(JSON.stringify(await replay.call('note', { n }))).toBe(JSON.stringify(given[index]))
    }
    replay.finish()
    expect(ran).toEqual(['1', '2', '3'])
    expect(await journal.listRun(id)).toHaveLength(3)
  })

  test.each<[string, [string, unknown][]]>([
    [
      'other arguments',
      [
        ['note', { n: 1 }],
        ['note', { n: 9 }],
      ],
    ],
    [
      'another tool',
      [
        ['note', { n: 1 }],
        ['todo', { todos: [] }],
      ],
    ],
    [
      'another order',
      [
        ['note', { n: 1 }],
        ['note', { n: 3 }],
      ],
    ],
    [
      'one too many',
      [
        ['note', { n: 1 }],
        ['note', { n: 2 }],
        ['note', { n: 3 }],
        ['note', { n: 3 }],
      ],
    ],
  ])('R68 stops on a changed call: %s', async (_how, calls) => {
    const { journal, id } = await recorded()
    const replay = await replaySession(journal, id)
    const last = calls.pop() as [string, unknown]
    for (const [tool, args] of calls) await replay.call(tool, args)
    await expect(replay.call(...last)).rejects.toMatchObject({ code: 'REPLAY_DIFFERS' })
    expect(replay.signal.aborted).toBe(true)
    // It is over, also for a call that would have been right.
    await expect(replay.call('note', { n: 2 })).rejects.toMatchObject({ code: 'REPLAY_DIFFERS' })
    expect(() => replay.finish()).toThrow(expect.objectContaining({ code: 'REPLAY_DIFFERS' }))
  })

  test('R68 calls that were left out are a difference', async () => {
    const { journal, id } = await recorded()
    const replay = await replaySession(journal, id)
    await replay.call('note', { n: 1 })
    expect(() => replay.finish()).toThrow(/at call 2 of 3/u)
  })

  test('calls that ran at the same time may come in another order; their ids tell equal ones apart', async () => {
    const journal = await memoryJournal()
    let count = 0
    const tool = testTool('slow', async () => {
      count += 1
      const mine = count
      await new Promise((resolve) => setTimeout(resolve, 30))
      return mine
    })
    const { call, session } = await openScene({ journal, tools: [tool] })
    const given = await Promise.all(['a', 'b', 'c'].map((callId) => call('slow', {}, { callId })))
    const replay = await replaySession(journal, session.id)
    for (const callId of ['c', 'a', 'b']) {
      const index = 'abc'.indexOf(callId)
      expect(JSON.stringify(await replay.call('slow', {}, { callId }))).toBe(JSON.stringify(given[index]))
    }
    replay.finish()
  })

  test('R6 a call whose process died is an error, and is not made again', async () => {
    const journal = await memoryJournal()
    const { session, call } = await openScene({ journal })
    await call('todo', { todos: [] })
    await journal.insertToolCall({
      runId: session.id,
      nodeId: SESSION_NODE,
      attempt: 1,
      seq: 9,
      toolName: 'bash',
      inputJson: '{"command":"x"}',
      sideEffect: true,
    })
    const [, orphan] = await collect(journal, session.id)
    expect(orphan?.envelope).toMatchObject({ type: 'error', metadata: { code: 'interrupted', duration_ms: 0 } })
    expect(JSON.stringify((await collect(journal, session.id))[1])).toBe(JSON.stringify(orphan))
  })

  test('R6 R68 a process that is killed in the middle leaves the call behind as interrupted', async () => {
    const fixture = makeSandbox()
    const script = `
      import { openJournal } from 'toolwright'
      import { createSession } from 'toolwright/contract'
      const journal = await openJournal('file:runs.db')
      const die = { id: 'die', description: 'x', parameters: { type: 'object' }, requires: {}, sideEffect: true, execute: () => process.kill(process.pid, 'SIGKILL') }
      const session = await createSession({ id: 'killed', workspace: '.', manifest: { name: 'x' }, tools: [die], journal })
      await session.call('todo', { todos: [] })
      await journal.flush()
      await session.call('die', {})
    `
    const file = fixture.put(
      'killed.mjs',
      script
        .replaceAll("'toolwright", `'${import.meta.resolve('toolwright').replace('/dist/index.js', '')}/dist/index.js`)
        .replaceAll("/index.js/contract'", "/contract.js'"),
    )
    const ended = spawnSync(process.execPath, [file], { cwd: fixture.root, encoding: 'utf8' })
    expect(ended.signal, ended.stderr).toBe('SIGKILL')
    const journal = await openJournal(`file:${fixture.at('runs.db')}`)
    onTestFinished(() => journal.close())
    await journal.recover()
    const envelopes = (await collect(journal, 'killed')).map(({ envelope }) => envelope)
    expect(envelopes.map(({ metadata }) => metadata.code)).toEqual(['ok', 'interrupted'])
  })

  test('a session that the journal does not know is refused', async () => {
    await expect(replaySession(await memoryJournal(), 'none')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  test('an aborted effect is unknown in the journal, and its envelope is kept', async () => {
    const journal = await memoryJournal()
    const { call, session } = await openScene({
      journal,
      tools: [testTool('hangs', () => new Promise(() => undefined), { sideEffect: true })],
    })
    const given = await call('hangs', {}, { signal: AbortSignal.timeout(20) })
    expect(given.metadata.code).toBe('aborted')
    expect(await journal.listRun(session.id)).toMatchObject([{ status: 'unknown' }])
    expect((await collect(journal, session.id))[0]?.envelope).toEqual(given)
  })
})

test('two sessions on one journal do not disturb each other', async () => {
  const journal = await memoryJournal()
  const fixture = makeSandbox()
  const sessions = await Promise.all(
    ['one', 'two'].map((id) => createSession({ id, workspace: fixture.root, manifest: { name: id, permissions: allowAll }, journal })),
  )
  await Promise.all(sessions.flatMap((session) => Array.from({ length: 20 }, () => session.call('todo', { todos: [] }))))
  for (const { id } of sessions) expect(await journal.listRun(id)).toHaveLength(20)
  await Promise.all(sessions.map((session) => session.close()))
})
