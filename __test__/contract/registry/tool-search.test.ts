import { ToolLoopAgent } from 'ai'
import { generateText as generateText6, stepCountIs, type ToolSet as ToolSet6 } from 'ai-6'
import { MockLanguageModelV3 } from 'ai-6/test'
import { MockLanguageModelV4 } from 'ai/test'
import { builtInTools, createSession } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { script, seenBy } from '../../support/scripted-model.ts'
import { step, stdio, withServers } from '../mcp/servers.ts'
import { dataOf, failureOf, openScene, testTool } from '../scene.ts'

const extension = (id: string, description: string) => testTool(id, () => id, { description, extension: true })
const many = (count: number) => Array.from({ length: count }, (_, index) => extension(`bulk_${index}`, `Bulk tool number ${index}`))
const room = 20 - builtInTools.length
/** Those with nothing behind them in these sessions are not offered. */
const isOffered = (id: string) => !['task', 'skill', 'web_search'].includes(id)
const offered = builtInTools.map(({ id }) => id).filter(isOffered)

describe('hiding', () => {
  test('R60 up to 20 tools all are listed; one more, and those of extensions are hidden', async () => {
    const at20 = await openScene({ tools: many(room) })
    expect(Object.keys(at20.session.tools).sort()).toEqual([...offered, ...many(room).map(({ id }) => id)].sort())
    const own = testTool('own', () => 'own')
    const at21 = await openScene({ tools: [own, ...many(room)] })
    const listed = Object.keys(at21.session.tools)
    expect(listed.sort()).toEqual([...offered, 'own'].sort())
    expect((await at21.session.prepareStep(step)).activeTools.sort()).toEqual(listed)
    expect(failureOf(await at21.call('bulk_0', {}))).toMatchObject({ code: 'unknown_tool', text: expect.stringMatching(/tool_search/u) })
  })

  test('R60 locked tools and those of the agent are never hidden', async () => {
    const tools = Array.from({ length: 40 }, (_, index) => testTool(`own_${index}`, () => index))
    const { session } = await openScene({ tools })
    expect(Object.keys(session.tools)).toHaveLength(40 + offered.length - 1)
  })

  test('R60 the threshold, the matches, and the hiding itself are configured', async () => {
    const tools = many(30)
    expect(Object.keys((await openScene({ tools, toolSearch: { enabled: false } })).session.tools)).toHaveLength(30 + offered.length)
    expect(Object.keys((await openScene({ tools, toolSearch: { threshold: 100 } })).session.tools)).toHaveLength(30 + offered.length)
    const { call } = await openScene({ tools, toolSearch: { maxMatches: 3 } })
    expect(dataOf(await call('tool_search', { query: 'bulk' })).matches).toHaveLength(3)
    for (const toolSearch of [{ threshold: -1 }, { maxMatches: 11 }, { enabled: 1 }, { treshold: 1 }]) {
      const refused = createSession({ workspace: makeSandbox().root, manifest: { name: 'x' }, toolSearch: toolSearch as never })
      await expect(refused).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    }
  })
})

describe('searching', () => {
  const tools = [
    ...many(30),
    extension('github_createIssue', 'Open an issue in a repository'),
    extension('github_close_issue', 'Close an issue'),
    extension('calendar_add', 'Add an event to the calendar'),
    testTool('weather', () => 1, {
      extension: true,
      description: 'Forecast',
      parameters: { type: 'object', properties: { city: { type: 'string', description: 'Where the umbrella is needed' } } },
    }),
  ]

  test.each([
    ['create issue', 'github_createIssue'],
    ['calendr', 'calendar_add'],
    ['calendar_add', 'calendar_add'],
    ['umbrella', 'weather'],
    ['CLOSE', 'github_close_issue'],
  ])('R60 %s finds %s first, with id and description alone', async (query, id) => {
    const { call } = await openScene({ tools })
    const { matches } = dataOf(await call('tool_search', { query }))
    expect(matches[0]).toEqual({ id, description: tools.find((tool) => tool.id === id)?.description })
    expect(matches.length).toBeLessThanOrEqual(10)
  })

  test('R60 at most 10 come, and nothing is no error', async () => {
    const { call } = await openScene({ tools })
    expect(dataOf(await call('tool_search', { query: 'bulk tool' })).matches).toHaveLength(10)
    expect(dataOf(await call('tool_search', { query: 'zzzzqqqq' }))).toEqual({ matches: [] })
  })

  test('R60 what is found can be called from the next step on, and for the rest of the session', async () => {
    const { session, call } = await openScene({ tools })
    await session.prepareStep(step)
    await call('tool_search', { query: 'calendar' })
    expect(failureOf(await call('calendar_add', {})).code).toBe('unknown_tool')
    expect((await session.prepareStep(step)).activeTools).toContain('calendar_add')
    expect(dataOf(await call('calendar_add', {}))).toBe('calendar_add')
    await call('tool_search', { query: 'umbrella' })
    for (let more = 0; more < 3; more += 1)
      expect((await session.prepareStep(step)).activeTools).toEqual(expect.arrayContaining(['calendar_add', 'weather']))
  })

  test('R60 without steps, what is found can be called when the search is over', async () => {
    const { call } = await openScene({ tools })
    await call('tool_search', { query: 'calendar' })
    expect(dataOf(await call('calendar_add', {}))).toBe('calendar_add')
  })
})

describe('an agent', () => {
  const turns = [[{ tool: 'tool_search', input: { query: 'add numbers' } }], [{ tool: 'local_add', input: { a: 20, b: 22 } }], 'Done.']
  const servers = () => ({ ...withServers({ local: stdio({ MANY: '40' }) }), toolSearch: {} })

  test('R60 a ToolLoopAgent finds a tool of a server and calls it in its next step', async () => {
    const { session } = await openScene(servers())
    const model = new MockLanguageModelV4({ doGenerate: script(...turns) })
    await new ToolLoopAgent({ model, tools: session.tools, prepareStep: session.prepareStep }).generate({ prompt: 'Add.' })
    const seen = model.doGenerateCalls.map(({ tools = [] }) => tools.map(({ name }) => name))
    expect(seen[0]?.sort()).toEqual([...offered].sort())
    expect(seen[1]).toContain('local_add')
    expect(JSON.parse(String(seenBy(model).at(-1)?.output.value))).toMatchObject({ type: 'output', data: { content: [{ text: '42' }] } })
  })

  test('R60 so does one of AI SDK 6', async () => {
    const { session } = await openScene(servers())
    const model = new MockLanguageModelV3({ doGenerate: script(...turns) as never })
    await generateText6({
      model,
      tools: session.tools as unknown as ToolSet6,
      prepareStep: session.prepareStep as never,
      prompt: 'Add.',
      stopWhen: stepCountIs(4),
    })
    expect(JSON.parse(String(seenBy(model as never).at(-1)?.output.value))).toMatchObject({
      type: 'output',
      data: { content: [{ text: '42' }] },
    })
  })
})
