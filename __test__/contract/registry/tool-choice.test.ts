import { mkdirSync, writeFileSync } from 'node:fs'
import { openJournal } from 'toolwright'
import { builtInTools, createSession, replaySession, type SessionOptions, type WebSearchProvider } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { step, stdio, withServers } from '../mcp/servers.ts'
import { dataOf, failureOf, openScene, openSession, testTool } from '../scene.ts'

const always = ['bash', 'edit', 'glob', 'grep', 'question', 'read', 'todo', 'web_fetch', 'write']
const offered = async (options: Partial<SessionOptions> = {}): Promise<string[]> =>
  Object.keys((await openScene({ skills: { home: false }, ...options })).session.tools).sort()
const plus = (...ids: string[]): string[] => [...always, ...ids].sort()

describe('what is offered', () => {
  test('what has nothing behind it is not, and answers as ever when it is called', async () => {
    const { session, call } = await openScene({ skills: { home: false } })
    expect(Object.keys(session.tools).sort()).toEqual(always)
    expect(session.registered.map(({ id }) => id).sort()).toEqual(builtInTools.map(({ id }) => id).sort())
    expect(failureOf(await call('task', { subagent_type: 'x', prompt: 'y' }))).toEqual({
      code: 'invalid_arguments',
      text: 'There is no agent x that takes tasks. There is none in this session: do it yourself.',
    })
    expect(failureOf(await call('web_search', { query: 'x' })).code).toBe('unavailable')
    expect(failureOf(await call('skill', { name: 'x' })).text).toBe('There is no skill x. There are none in this session.')
    expect(dataOf(await call('tool_search', { query: 'x' }))).toEqual({ matches: [] })
  })

  test('task with an agent that takes tasks', async () => {
    expect(await offered({ manifest: { name: 'x', agents: [{ name: 'a' }] } })).toEqual(plus('task'))
    expect(await offered({ manifest: { name: 'x', agents: [{ name: 'a', mode: 'primary' }] } })).toEqual(always)
  })

  test('web_search with a provider', async () => {
    const provider: WebSearchProvider = { id: 'p', host: 'example.com', search: () => Promise.resolve([]) }
    expect(await offered({ host: { webSearch: [provider] } })).toEqual(plus('web_search'))
  })

  test('skill with a skill', async () => {
    const fixture = makeSandbox()
    mkdirSync(fixture.at('.agents/skills/one'), { recursive: true })
    writeFileSync(fixture.at('.agents/skills/one/SKILL.md'), '---\nname: one\ndescription: One.\n---\nBody.\n')
    const session = await openSession(fixture, { skills: { home: false } })
    expect(Object.keys(session.tools).sort()).toEqual(plus('skill'))
  })

  test('tool_search with tools that it can find', async () => {
    const many = Array.from({ length: 10 }, (_, index) => testTool(`bulk_${index}`, () => index, { extension: true }))
    expect(await offered({ tools: many })).toEqual(plus('tool_search'))
    expect(await offered({ tools: many.slice(0, 1) })).toContain('tool_search')
    expect(await offered({ tools: [testTool('own', () => 1)] })).not.toContain('tool_search')
  })

  test('tool_search with servers, before and after they are connected', async () => {
    const { session } = await openScene(withServers({ local: stdio() }))
    expect(session.tools).toHaveProperty('tool_search')
    expect((await session.prepareStep(step)).activeTools).toContain('tool_search')
  })

  test('a replay offers what the session did, and takes its choice of tools', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const options = { journal, skills: { home: false }, tools: { except: ['bash'] } } as const
    const { session, put, call } = await openScene(options)
    put('a', 'a')
    await call('read', { path: 'a' })
    const replay = await replaySession(journal, session.id, { tools: options.tools })
    expect(Object.keys(replay.tools).sort()).toEqual(Object.keys(session.tools).sort())
    await expect(replaySession(journal, session.id, { tools: { only: ['raed'] } })).rejects.toThrow(/Did you mean read/u)
  })
})

describe('tools: { only } and { except }', () => {
  const own = [testTool('mine', () => 1)]

  test.each<[SessionOptions['tools'], string[]]>([
    [{ only: ['read', 'grep'] }, ['grep', 'read']],
    [{ only: ['read', 'mine'], own }, ['mine', 'read']],
    [{ only: ['read'], own }, ['read']],
    [{ only: [] }, []],
    [{ except: ['bash', 'write', 'web_fetch'] }, ['edit', 'glob', 'grep', 'question', 'read', 'todo']],
    [{ except: ['mine'], own }, always],
    [{ own }, plus('mine')],
    [{}, always],
    [own, plus('mine')],
  ])('%j', async (tools, expected) => {
    expect(await offered({ tools })).toEqual(expected)
  })

  test('a tool that is left out cannot be called, also by a subagent, and its capability is none of the session’s', async () => {
    const seen: string[] = []
    const { call, session } = await openScene({
      manifest: { name: 'x', agents: [{ name: 'helper' }] },
      tools: { only: ['read', 'task', 'mine'], own },
      host: {
        spawn: async ({ session: child }) => (
          seen.push(...Object.keys(child.tools), (await child.call('bash', { command: 'ls' })).metadata.code),
          'done'
        ),
      },
    })
    const { code, text } = failureOf(await call('bash', { command: 'ls' }))
    expect([code, text]).toEqual(['unknown_tool', 'There is no tool bash. The tools of this session are: read, task, mine.'])
    expect(session.requirements.declared.shell ?? []).toEqual([])
    expect((await call('task', { subagent_type: 'helper', prompt: 'x' })).type).toBe('output')
    expect(seen).toEqual(['read', 'task', 'mine', 'unknown_tool'])
  })

  test('tools of servers are chosen by their ids, which come later', async () => {
    const servers = withServers({ local: stdio() })
    const { session } = await openScene({ ...servers, tools: { only: ['read', 'local_add'] } })
    expect((await session.prepareStep(step)).activeTools.sort()).toEqual(['local_add', 'read'])
    const { session: without } = await openScene({ ...servers, tools: { except: ['local_add'] } })
    expect((await without.prepareStep(step)).activeTools).not.toContain('local_add')
  })

  test('a rule about a tool that is left out is no rule about nothing', async () => {
    const { session } = await openScene({
      tools: { except: ['bash'] },
      permissions: [{ permission: 'bash', pattern: 'ls', action: 'allow' }],
    })
    expect(session.warnings).toEqual([])
  })

  test('descriptions recommend no tool that is left out', async () => {
    const { session } = await openScene({
      tools: { only: ['write', 'web_search'] },
      host: { webSearch: [{ id: 'p', host: 'example.com', search: () => Promise.resolve([]) }] },
    })
    const { session: editing } = await openScene({ tools: { only: ['edit'] } })
    const text = [session.tools.write, session.tools.web_search, editing.tools.edit].map(({ description }) => description).join(' ')
    expect(text).not.toMatch(/use edit|use write|web_fetch/u)
  })

  test.each<[unknown, RegExp, object]>([
    [{ only: ['raed'] }, /tools\.only: no tool has the id "raed"\. Did you mean read\?/u, { toolId: 'raed' }],
    [
      { except: ['shell_exec'] },
      /tools\.except: no tool has the id "shell_exec"\. There are read, write/u,
      { tools: builtInTools.map(({ id }) => id) },
    ],
    [{ only: [], except: [] }, /either only or except/u, {}],
    [{ only: 'read' }, /tools\.only must be an array of ids/u, {}],
    [{ onyl: ['read'] }, /tools\.onyl is no option; there are own, only, except/u, {}],
    [{ own: {} }, /tools\.own must be an array of tools/u, {}],
    ['read', /tools must be an array of tools, or/u, {}],
  ])('%j is refused', async (tools, message, details) => {
    const opening = createSession({ workspace: makeSandbox().root, manifest: { name: 'x' }, tools: tools as never })
    await expect(opening).rejects.toMatchObject({ code: 'INVALID_INPUT', message: expect.stringMatching(message), details })
  })
})
