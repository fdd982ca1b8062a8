import { setTimeout as wait } from 'node:timers/promises'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { openJournal } from 'toolwright'
import {
  CALLER_IS_AGENT,
  replaySession,
  type AgentDefinition,
  type ChildAgent,
  type RecordPart,
  type Rule,
  type SessionOptions,
} from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { script, seenBy, type Turn } from '../../support/scripted-model.ts'
import { stdio, step, until } from '../mcp/servers.ts'
import { allowAll, dataOf, failureOf, openScene, rule, testTool } from '../scene.ts'

/** A session with agents that do what `work` says. */
const withAgents = (
  agents: Partial<AgentDefinition>[],
  work: (child: ChildAgent) => unknown,
  more: Partial<SessionOptions> = {},
  permissions: Rule[] = allowAll,
) =>
  openScene({
    manifest: { name: 'root', permissions, agents: agents.map((agent) => ({ name: 'helper', ...agent })) },
    host: { spawn: async (child) => String((await work(child)) ?? 'done') },
    ...more,
  })

const task = (prompt = 'Do it.', more: object = {}) => ({ subagent_type: 'helper', prompt, ...more })
const model = (...turns: Turn[]) => new MockLanguageModelV4({ doGenerate: script(...turns) })

describe('calling', () => {
  test('R49 a blocking task gives the answer, one in the background its session at once', async () => {
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    const { session, call } = await withAgents([{}], async ({ prompt, metadata }) => {
      if (prompt === 'Wait.') await held
      return `${prompt} ${metadata?.['n']}`
    })
    const blocking = dataOf(await call('task', task('Now.', { metadata: { n: 7 } })))
    expect(blocking).toMatchObject({ output: 'Now. 7', session_id: expect.stringContaining(session.id) })
    const begun = dataOf(await call('task', task('Wait.', { background: true })))
    expect(begun).toEqual({ session_id: expect.stringContaining(session.id) })
    const messages = [{ role: 'user' as const, content: 'Go.' }]
    expect((await session.prepareStep({ messages })).messages).toBeUndefined()
    release()
    let injected: unknown[] | undefined
    await until(async () => (injected = (await session.prepareStep({ messages })).messages) !== undefined)
    expect(injected).toEqual([...messages, { role: 'assistant', content: expect.stringContaining('Wait. undefined') }])
    // Handed in once, also where later steps still have it.
    expect((await session.prepareStep({ messages: injected as typeof messages })).messages).toBeUndefined()
  })

  test('R49 a failed task in the background is told as well', async () => {
    const { session, call } = await withAgents([{}], () => Promise.reject(new Error('no luck')))
    await call('task', task('x', { background: true }))
    let injected: unknown
    await until(async () => (injected = (await session.prepareStep(step)).messages) !== undefined)
    expect(injected).toEqual([{ role: 'assistant', content: expect.stringMatching(/helper .* has failed: .*no luck/u) }])
  })

  test.each<[string, Partial<AgentDefinition>, boolean]>([
    ['subagent', { mode: 'subagent' }, true],
    ['all', { mode: 'all' }, true],
    ['primary', { mode: 'primary' }, false],
    ['unknown', { name: 'other' }, false],
  ])('R50 an agent of mode %s', async (_mode, agent, isCallable) => {
    const { call } = await withAgents([agent], () => 'done')
    const envelope = await call('task', task())
    if (isCallable) expect(dataOf(envelope).output).toBe('done')
    else expect(failureOf(envelope)).toMatchObject({ code: 'invalid_arguments', text: expect.stringMatching(/no agent helper/u) })
  })

  test('R50 the model is told which agents take tasks', async () => {
    const { session } = await withAgents(
      [{ description: 'Reads a lot.' }, { name: 'first', mode: 'primary' }, { name: 'plain' }],
      () => 'done',
    )
    expect(session.tools.task.description).toMatch(/ The agents are: helper \(Reads a lot\.\), plain\.$/u)
    const { session: alone } = await withAgents([], () => 'done')
    expect(alone.tools).not.toHaveProperty('task')
  })

  test('R51 a child at depth 5 is made and one at depth 6 refused, in the background too', async () => {
    for (const background of [false, true]) {
      const depths: number[] = []
      let refusal: unknown
      const { call } = await withAgents([{}], async ({ depth, session }) => {
        depths.push(depth)
        const next = await session.call('task', task('Deeper.', { background }))
        if (next.type === 'error') refusal = failureOf(next)
        if (background) await wait(300)
      })
      await call('task', task('Deeper.', { background }))
      await until(() => refusal !== undefined)
      expect(depths).toEqual([1, 2, 3, 4, 5])
      expect(refusal).toMatchObject({ code: 'capability_refused', text: expect.stringMatching(/5 deep/u) })
    }
  })

  test('R51 no more agents are at work at once than the limit says, and those that ended count no more', async () => {
    const { call } = await withAgents([{}], () => wait(50), { limits: { agents: 4 } })
    const codes = (await Promise.all(Array.from({ length: 64 }, () => call('task', task())))).map(({ metadata }) => metadata.code)
    expect(codes.filter((code) => code === 'ok')).toHaveLength(4)
    expect(codes.filter((code) => code === 'unavailable')).toHaveLength(60)
    expect((await call('task', task())).type).toBe('output')
  })
})

describe('what a child may do', () => {
  const read =
    (path: string) =>
    async ({ session }: ChildAgent) =>
      JSON.stringify(await session.call('read', { path }))
  const outcome = async (scene: Awaited<ReturnType<typeof withAgents>>) => JSON.parse(dataOf(await scene.call('task', task())).output)

  test('R52 never more than its parent: a ceiling of the parent holds for the grandchild', async () => {
    const agents = [{ requires: { fs: { read: ['/etc/**'] } } }]
    const free = await withAgents(agents, read('/etc/hostname'))
    expect((await outcome(free)).metadata.code).toBe('capability_refused')
    const ceiling = { fs: { read: ['{workspace}/open/**'] } }
    const deep = await withAgents(
      agents,
      async (child) => {
        if (child.depth < 3) return dataOf(await child.session.call('task', task())).output
        return read('closed/a')(child)
      },
      { ceiling },
    )
    deep.put('closed/a', 'x')
    expect((await outcome(deep)).metadata.code).toBe('capability_refused')
  })

  test('R52 its own ceiling and its tools narrow it', async () => {
    const narrow = await withAgents([{ ceiling: { fs: { read: ['{workspace}/open/**'] } } }], read('closed/a'))
    narrow.put('closed/a', 'x')
    expect((await outcome(narrow)).metadata.code).toBe('capability_refused')
    expect((await narrow.call('read', { path: 'closed/a' })).type).toBe('output')
    const few = await withAgents([{ tools: ['glob'] }], read('closed/a'))
    expect((await outcome(few)).metadata.code).toBe('unknown_tool')
  })

  test('R52 what the parent denies is denied to the child and to the grandchild, whatever their rules say', async () => {
    const agents = [{ permissions: [...allowAll, rule('fs.read secret/** allow')] }]
    const scene = await withAgents(
      agents,
      async (child) => {
        if (child.depth < 2) return dataOf(await child.session.call('task', task())).output
        return JSON.stringify([
          await child.session.call('read', { path: 'secret/a' }),
          await child.session.call('grep', { pattern: 'needle' }),
          await child.session.call('read', { path: 'open' }),
        ])
      },
      {},
      [...allowAll, rule('fs.read secret/** deny')],
    )
    scene.put('secret/a', 'needle')
    scene.put('open', 'x')
    const [refused, found, open] = await outcome(scene)
    expect(refused.metadata.code).toBe('permission_denied')
    expect(JSON.stringify(found)).not.toContain('secret')
    expect(open.type).toBe('output')
  })

  test('R52 a deny that the user makes for the parent holds for a child that is at work', async () => {
    const codes: string[] = []
    const agents = [{ name: 'helper', permissions: allowAll }]
    const scene = await openScene({
      manifest: { name: 'root', agents, permissions: allowAll },
      permissions: { session: [rule('write b ask')] },
      host: {
        prompt: ({ session_id }) => (session_id === scene.session.id ? 'reject_always' : 'allow_once'),
        spawn: async ({ session }) => {
          codes.push((await session.call('write', { path: 'b', content: '1' })).metadata.code)
          await scene.call('write', { path: 'b', content: '1' })
          codes.push((await session.call('write', { path: 'b', content: '2' })).metadata.code)
          return ''
        },
      },
    })
    await scene.call('task', task())
    expect(codes).toEqual(['ok', 'permission_denied'])
  })

  test("R52 a child's own rule is stricter than its parent's", async () => {
    const scene = await withAgents([{ permissions: [...allowAll, rule('fs.read private/** deny')] }], read('private/a'))
    scene.put('private/a', 'x')
    expect((await outcome(scene)).metadata.code).toBe('permission_denied')
  })

  test('R52 what the user agreed to for the parent is not agreed to for the child; an agreement with the child is not one with the parent', async () => {
    const asked: string[] = []
    const scene = await openScene({
      manifest: { name: 'root', agents: [{ name: 'helper' }] },
      permissions: { session: [rule('write ** allow')] },
      host: {
        prompt: ({ session_id }) => {
          asked.push(session_id)
          return 'allow_always'
        },
        spawn: async ({ session }) => {
          await session.call('write', { path: 'a', content: '1' })
          await session.call('write', { path: 'a', content: '2' })
          await session.call('read', { path: 'a' })
          await session.call('read', { path: 'a' })
          return session.id
        },
      },
    })
    const { output } = dataOf(await scene.call('task', task()))
    expect(asked).toEqual([output, output])
    await scene.call('read', { path: 'a' })
    expect(asked).toEqual([output, output, scene.session.id])
  })

  test('R52 questions to the user are not delegated', async () => {
    const host = { prompt: () => 'allow_once' as const, question: () => [['yes']] }
    const questions = { questions: [{ question: 'Really?' }] }
    const { call } = await openScene({
      manifest: { name: 'root', agents: [{ name: 'helper' }] },
      host: { ...host, spawn: async ({ session }) => (await session.call('question', questions)).metadata.code },
    })
    expect(dataOf(await call('question', questions)).answers).toEqual([['yes']])
    expect(dataOf(await call('task', task())).output).toBe('question_unavailable')
  })

  test('R52 credentials and hosts of the parent are not delegated: neither its servers nor what its manifest alone reaches', async () => {
    const hosts = ['127.0.0.1:9']
    const mcpServers = { local: stdio() }
    const seen: unknown[] = []
    const { session, call } = await openScene({
      manifest: {
        name: 'root',
        requires: { net: { hosts } },
        permissions: [...allowAll, rule('* 127.0.0.1 allow')],
        mcpServers,
        agents: [{ name: 'helper' }, { name: 'told', requires: { net: { hosts } } }],
      },
      enabledMcpServers: ['local'],
      toolSearch: { enabled: false },
      tools: [testTool('reaches', (_, { mcp }) => mcp.call('local', 'add', { a: 1, b: 2 }), { requires: { capabilities: ['mcp:local'] } })],
      host: {
        spawn: async ({ session: child }) => {
          const { activeTools } = await child.prepareStep(step)
          seen.push(activeTools.filter((id) => id.startsWith('local_')))
          const calls: [string, object][] = [
            ['local_add', { a: 1, b: 2 }],
            ['reaches', {}],
            ['web_fetch', { url: 'http://127.0.0.1:9/' }],
          ]
          return JSON.stringify(await Promise.all(calls.map(async ([id, args]) => (await child.call(id, args)).metadata.code)))
        },
      },
    })
    await session.prepareStep(step)
    expect((await call('local_add', { a: 1, b: 2 })).type).toBe('output')
    const codes = async (subagent_type: string) => JSON.parse(dataOf(await call('task', { subagent_type, prompt: 'x' })).output)
    expect(await codes('helper')).toEqual(['unknown_tool', 'unavailable', 'capability_refused'])
    // A host that its own definition names, and its parent reaches, is dialled.
    expect((await codes('told'))[2]).toBe('network_failed')
    expect(seen).toEqual([[], []])
  })

  test('R43 the watchdog sees the calls of children, with their manifest', async () => {
    const seen: string[] = []
    const { call } = await withAgents([{}], read('a'), {
      watchdog: ({ tool, manifest }) => (seen.push(`${manifest.name} ${tool}`), { action: 'allow' }),
    })
    await call('task', task())
    expect(seen).toEqual(['root task', 'helper read'])
  })
})

describe("a child's session", () => {
  test('R53 the workspace stays, every call spawns afresh, and caller: "agent" adds one line', async () => {
    const seen: { id: string; text: string; instructions: string; todos: unknown }[] = []
    const agents: Partial<AgentDefinition>[] = [{ instructions: 'Be brief.' }, { name: 'told', instructions: 'Be brief.', caller: 'agent' }]
    const scene = await withAgents(
      agents,
      async ({ session, instructions }) => {
        const { content } = dataOf(await session.call('read', { path: 'a' }))
        seen.push({ id: session.id, text: content, instructions, todos: dataOf(await session.call('todo', { todos: [] })) })
      },
      { skills: { project: false, home: false } },
    )
    scene.put('a', 'root file')
    for (const subagent_type of ['helper', 'helper', 'told']) await scene.call('task', { subagent_type, prompt: 'x' })
    expect(seen.map(({ text }) => text)).toEqual(Array(3).fill('root file'))
    expect(new Set(seen.map(({ id }) => id)).size).toBe(3)
    expect(seen.map(({ instructions }) => instructions)).toEqual(['Be brief.', 'Be brief.', `Be brief.\n\n${CALLER_IS_AGENT}`])
  })

  test('R53 a child is entered once: when it has answered, its session is closed', async () => {
    const children: ChildAgent[] = []
    const { call } = await withAgents([{}], (child) => void children.push(child))
    await call('task', task())
    await call('task', task())
    expect(children).toHaveLength(2)
    for (const { session } of children) expect((await session.call('todo', { todos: [] })).metadata.code).toBe('session_closed')
  })

  test('R53 the transcript is nested, or in a session of its own where the agent is inspectable', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const agents = [{}, { name: 'open', inspectable: true }]
    const { session, call } = await withAgents(agents, ({ session: child }) => child.call('read', { path: 'none' }).then(() => 'done'), {
      journal,
    })
    const nested = dataOf(await call('task', task('x'), { callId: 'one' }))
    expect(nested.transcript).toEqual([{ tool: 'read', call_id: expect.any(String), type: 'error', error_text: expect.any(String) }])
    const own = dataOf(await call('task', { subagent_type: 'open', prompt: 'x' }, { callId: 'two' }))
    expect(own).toEqual({ output: 'done', session_id: expect.stringContaining(`${session.id}/`) })
    const rows = await journal.listRun(session.id)
    expect(rows.map(({ nodeId, toolName }) => `${nodeId} ${toolName}`).sort()).toEqual([
      'contract task',
      'contract task',
      'contract/1-one read',
    ])
    expect((await journal.listRun(own.session_id)).map(({ toolName }) => toolName)).toEqual(['read'])
    // What is nested is no part of the parent's own replay.
    const replay = await replaySession(journal, session.id)
    expect(JSON.stringify(await replay.call('task', task('x'), { callId: 'one' }))).toContain('"output":"done"')
    const ofChild = await replaySession(journal, own.session_id)
    expect((await ofChild.call('read', { path: 'none' })).type).toBe('error')
  })

  test('R53 ids of calls that look like paths, or hold anything, keep their own place', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const { session, call } = await withAgents([{}], ({ session: child }) => child.call('todo', { todos: [] }), { journal })
    for (const callId of ['a/../b', '\0', '', '\ud800', 'x'.repeat(1_000), 'same', 'same']) {
      expect((await call('task', task(), { callId })).type).toBe('output')
    }
    const nodes = (await journal.listRun(session.id)).filter(({ toolName }) => toolName === 'todo').map(({ nodeId }) => nodeId)
    expect(new Set(nodes).size).toBe(7)
    for (const node of nodes) expect(node).toMatch(/^contract\/\d+-[A-Za-z0-9._-]*$/u)
  })

  test("R53 a host's own store is told of the calls of children", async () => {
    const parts: RecordPart[] = []
    const { session, call } = await withAgents([{}], ({ session: child }) => child.call('todo', { todos: [] }), {
      onRecord: (part) => parts.push(part),
    })
    await call('task', task())
    const told = parts.map(({ type, tool, session_id }) => `${type} ${tool} ${session_id === session.id ? 'root' : 'child'}`)
    expect(told).toEqual(['call task root', 'call todo child', 'result todo child', 'result task root'])
  })
})

describe('abort', () => {
  const slow = testTool(
    'slow',
    (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  )

  test('R54 R6 an abort of the parent\'s call stops all below it: "aborted by the parent"', async () => {
    const ends: unknown[] = []
    const { call } = await withAgents(
      [{}],
      async ({ depth, session, signal }) => {
        const how = { signal }
        ends.push(await (depth < 3 ? session.call('task', task(), how) : session.call('slow', {}, how)))
      },
      { tools: [slow] },
    )
    const start = performance.now()
    const envelope = await call('task', task(), { signal: AbortSignal.timeout(300) })
    expect(failureOf(envelope).code).toBe('aborted')
    await until(() => ends.length === 3)
    for (const end of ends) expect(end).toMatchObject({ type: 'error', metadata: { code: 'aborted' } })
    expect(JSON.stringify(ends[0])).toMatch(/aborted by the parent/u)
    expect(performance.now() - start).toBeLessThan(3_000)
  })

  test('R54 closing a session stops its children, those in the background and what they run too', async () => {
    let isStopped = false
    const { session, call, root } = await withAgents([{}], async ({ session: child, signal }) => {
      await child.call('bash', { command: 'echo $$ > pid; sleep 60' }, { signal })
      isStopped = signal.aborted
    })
    await call('task', task('x', { background: true }))
    const { existsSync } = await import('node:fs')
    await until(() => existsSync(`${root}/pid`))
    const start = performance.now()
    await session.close()
    expect(performance.now() - start).toBeLessThan(4_000)
    await until(() => isStopped)
  })

  test('a host that does not listen to the signal holds nobody up', async () => {
    const { call } = await withAgents([{}], () => new Promise(() => undefined))
    const start = performance.now()
    expect(failureOf(await call('task', task(), { signal: AbortSignal.timeout(100) })).code).toBe('aborted')
    expect(performance.now() - start).toBeLessThan(2_000)
    const { call: limited } = await withAgents([{}], () => new Promise(() => undefined), { limits: { taskMs: 100 } })
    expect(failureOf(await limited('task', task())).code).toBe('timeout')
  })
})

describe('the default loop', () => {
  test('R55 a ToolLoopAgent three levels deep, with its own tools and rows under the parent', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const delegate = (to: string): Turn => [{ tool: 'task', input: { subagent_type: to, prompt: 'Go on.' } }]
    const last = model([{ tool: 'write', input: { path: 'deep.txt', content: 'from below' } }], 'Written.')
    const agents: AgentDefinition[] = [
      { name: 'first', model: model(delegate('second'), 'First done.') },
      { name: 'second', model: model(delegate('third'), 'Second done.') },
      { name: 'third', model: last, tools: ['write'], instructions: 'Write.' },
    ]
    const { session, text } = await openScene({ journal, manifest: { name: 'root', permissions: allowAll, agents } })
    const top = model(delegate('first'), 'All done.')
    const agent = new ToolLoopAgent({ model: top, tools: session.tools, prepareStep: session.prepareStep })
    expect((await agent.generate({ prompt: 'Begin.' })).text).toBe('All done.')
    expect(text('deep.txt')).toBe('from below')
    expect(JSON.parse(String(seenBy(top)[0]?.output.value))).toMatchObject({ data: { output: 'First done.' } })
    expect(last.doGenerateCalls[0]?.tools?.map(({ name }) => name)).toEqual(['write'])
    expect(JSON.stringify(last.doGenerateCalls[0]?.prompt)).not.toContain('Begin.')
    const rows = await journal.listRun(session.id)
    const depths = rows.map(({ nodeId, toolName }) => `${nodeId.split('/').length - 1} ${toolName}`)
    expect(depths.sort()).toEqual(['0 task', '1 task', '2 task', '3 write'])
    expect(rows.every(({ status }) => status === 'success')).toBe(true)
  })

  test('R55 without a model and a spawn the agent cannot be run', async () => {
    const { call } = await openScene({ manifest: { name: 'root', agents: [{ name: 'helper' }] } })
    expect(failureOf(await call('task', task()))).toMatchObject({ code: 'unavailable', text: expect.stringMatching(/no model/u) })
  })

  test('R55 an agent that goes on and on is stopped', async () => {
    const endless = new MockLanguageModelV4({ doGenerate: script([{ tool: 'todo', input: { todos: [] } }])[0] as never })
    const { call } = await openScene({ manifest: { name: 'root', agents: [{ name: 'helper', maxSteps: 3 }] }, model: endless })
    expect(failureOf(await call('task', task()))).toMatchObject({ code: 'tool_failed', text: expect.stringMatching(/after 3 steps/u) })
    expect(endless.doGenerateCalls).toHaveLength(3)
  })
})
