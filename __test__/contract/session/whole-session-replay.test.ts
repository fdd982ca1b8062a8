import { ToolLoopAgent } from 'ai'
import { openJournal } from 'toolwright'
import { replaySession, type SessionOptions } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { seenBy, type Turn } from '../../support/scripted-model.ts'
import { openScene, testTool } from '../scene.ts'
import { modelOf } from './whole-session-fixture.ts'

const tools = ['calendar_add', 'calendar_list', 'weather'].map((id) =>
  testTool(id, ({ n }) => n, { description: `Tool of the ${id.replace('_', ' ')}`, extension: true }),
)
const search = { tool: 'tool_search', input: { query: 'calendar' } }
const add = (n: number) => ({ tool: 'calendar_add', input: { n } })

/** Runs an agent, and the same again over its journal. */
async function runTwice(turns: Turn[], toolSearch: SessionOptions['toolSearch'], hasSteps = true) {
  const journal = await openJournal('memory:')
  onTestFinished(() => journal.close())
  const { session } = await openScene({ journal, tools, toolSearch })
  const prompt = 'Go on.'
  const first = modelOf(...turns, 'Done.')
  await new ToolLoopAgent({ model: first, tools: session.tools, ...(hasSteps ? { prepareStep: session.prepareStep } : {}) }).generate({
    prompt,
  })
  const replay = await replaySession(journal, session.id, { tools })
  const second = modelOf(...turns, 'Done.')
  await new ToolLoopAgent({ model: second, tools: replay.tools }).generate({ prompt, abortSignal: replay.signal })
  replay.finish()
  const recorded = (await journal.listRun(session.id)).map(({ toolName }) => toolName)
  return { first: seenBy(first), second: seenBy(second), recorded, replay }
}

describe('the replay of a session with tools that are found', () => {
  test.each([true, false])('R68 a call before its tool was found was refused then, and is refused again (steps: %s)', async (hasSteps) => {
    const { first, second, recorded } = await runTwice([[add(1), search], [add(2)]], { threshold: 0 }, hasSteps)
    expect(recorded).toEqual(['tool_search', 'calendar_add'])
    expect(first[0]?.output).toMatchObject({ type: 'error-text', value: expect.stringContaining('calendar_add') })
    expect(JSON.stringify(second)).toBe(JSON.stringify(first))
  })

  test('R68 where nothing was hidden, every call is given again: without a search, beside one, and after one', async () => {
    for (const turns of [[[add(1)]], [[search, add(1)], [add(2)]], [[search], [add(1)]]]) {
      const { first, second } = await runTwice(turns, { enabled: false })
      expect(first.every(({ output }) => output.type === 'text')).toBe(true)
      expect(JSON.stringify(second)).toBe(JSON.stringify(first))
    }
  })

  test('R60 R68 what a search finds is offered when that search has been replayed, and nothing else is', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const { session, call } = await openScene({ journal, tools, toolSearch: { threshold: 0 } })
    await session.prepareStep({ messages: [] })
    // The host itself calls what is hidden: that is recorded.
    expect((await call('weather', {})).metadata.code).toBe('unknown_tool')
    await call('tool_search', search.input)
    await session.prepareStep({ messages: [] })
    await call('calendar_add', { n: 1 })
    const replay = await replaySession(journal, session.id, { tools })
    const offered = (): string[] =>
      Object.keys(replay.tools)
        .filter((id) => tools.some((tool) => tool.id === id))
        .sort()
    expect(offered()).toEqual([])
    expect((await replay.call('weather', {})).metadata.code).toBe('unknown_tool')
    await replay.call('tool_search', search.input)
    expect(offered()).toEqual(['calendar_add', 'calendar_list'])
    expect((await replay.call('calendar_add', { n: 1 })).type).toBe('output')
    replay.finish()
  })
})
