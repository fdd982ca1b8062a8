import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { loadTools, type ThreadEvent } from 'toolwright/standard-agents'
import { expect, test } from 'vitest'
import { script, seenBy } from '../support/scripted-model.ts'
import { openThread, order } from './support.ts'

test('the example: look up, answer, and the case is closed', async () => {
  const { tools, errors } = await loadTools(new URL('../../examples/standard-agents/agents/tools', import.meta.url))
  expect(errors).toEqual([])
  const events: ThreadEvent[] = []
  const thread = await openThread(tools, { onEvent: (event) => events.push(event) })
  const model = new MockLanguageModelV4({
    doGenerate: script(
      [{ tool: 'find_article', input: { topic: 'refunds' } }],
      [{ tool: 'answer_customer', input: { text: 'Five working days.' } }],
      'done',
    ),
  })
  const agent = new ToolLoopAgent({ model, tools: thread.tools({ only: ['find_article', 'answer_customer'] }) })
  await agent.generate({ prompt: 'Where is my refund?' })
  expect(seenBy(model).map(({ output }) => output.value)).toEqual([
    'A refund takes five working days.',
    expect.stringMatching(/^Sent\n\n/u),
  ])
  expect(await order(thread)).toEqual(['find_article', 'answer_customer', 'close_case'])
  expect(events.map(({ eventType }) => eventType)).toEqual(['answered'])
  expect(await thread.storage.get('closed')).toMatchObject({ reason: 'answered', at: expect.any(Date) })
})
