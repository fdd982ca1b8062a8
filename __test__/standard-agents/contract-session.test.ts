import { openJournal } from 'toolwright'
import { createSession, replaySession, type SessionOptions } from 'toolwright/contract'
import { defineTool, toContractTool, type Thread } from 'toolwright/standard-agents'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { makeSandbox } from '../support/sandbox.ts'
import { openThread, success, tool } from './support.ts'

const search = () => {
  const execute = vi.fn(async (_state: unknown, { query }: { query: string }) => success(`found ${query}`))
  return { execute, definition: defineTool({ description: 'Search the knowledge base', args: z.object({ query: z.string() }), execute }) }
}

async function openSession(thread: Thread, options: Partial<SessionOptions> = {}) {
  const session = await createSession({
    workspace: makeSandbox().root,
    manifest: { name: 'bridge', permissions: [{ permission: 'kb.read', pattern: '*', action: 'allow' }] },
    tools: [toContractTool(thread, 'search', { id: 'kb_search', requires: { capabilities: ['kb.read'] } })],
    headless: true,
    ...options,
  })
  onTestFinished(() => session.close())
  return session
}

describe('a tool of a thread in a contract session', () => {
  test('is called within its capabilities and rules, and its result is an envelope', async () => {
    const { execute, definition } = search()
    const thread = await openThread({ search: definition })
    const session = await openSession(thread)
    expect(await session.call('kb_search', { query: 'tea' }, { callId: 'c1' })).toMatchObject({
      type: 'output',
      data: { result: 'found tea' },
    })
    expect(execute).toHaveBeenCalledTimes(1)
    expect((await thread.messages.list()).at(-1)?.toolCallId).toBe('c1')
  })

  test('arguments are checked before it is called', async () => {
    const { execute, definition } = search()
    const session = await openSession(await openThread({ search: definition }))
    expect(await session.call('kb_search', { query: 1 })).toMatchObject({ type: 'error', metadata: { code: 'invalid_arguments' } })
    expect(execute).not.toHaveBeenCalled()
  })

  test('a ceiling without its capability refuses it', async () => {
    const { execute, definition } = search()
    const session = await openSession(await openThread({ search: definition }), { ceiling: { fs: { read: ['{workspace}/**'] } } })
    expect(await session.call('kb_search', { query: 'tea' })).toMatchObject({ type: 'error', metadata: { code: 'capability_refused' } })
    expect(execute).not.toHaveBeenCalled()
  })

  test('a rule denies it, and without a user so does the lack of a rule', async () => {
    for (const action of ['deny', 'ask'] as const) {
      const { execute, definition } = search()
      const permissions = [{ permission: 'kb_search', pattern: '*', action }]
      const session = await openSession(await openThread({ search: definition }), { manifest: { name: 'bridge', permissions } })
      expect(await session.call('kb_search', { query: 'tea' })).toMatchObject({ type: 'error' })
      expect(execute).not.toHaveBeenCalled()
    }
  })

  test('an error result is an error envelope, without the stack', async () => {
    const thread = await openThread({ search: tool(() => ({ status: 'error', error: 'why', stack: 'SECRET' })) })
    const envelope = await (await openSession(thread)).call('kb_search', {})
    expect(envelope).toMatchObject({ type: 'error', error_text: expect.stringContaining('why') })
    expect(JSON.stringify(envelope)).not.toContain('SECRET')
  })

  test('its calls are in the journal of the session, and a replay returns them without making them', async () => {
    const { execute, definition } = search()
    const journal = await openJournal('memory:')
    const session = await openSession(await openThread({ search: definition }), { id: 'bridged', journal })
    const envelope = await session.call('kb_search', { query: 'tea' }, { callId: 'c1' })
    await session.close()
    const replay = await replaySession(journal, 'bridged')
    expect(JSON.stringify(await replay.call('kb_search', { query: 'tea' }, { callId: 'c1' }))).toBe(JSON.stringify(envelope))
    expect(execute).toHaveBeenCalledTimes(1)
    await journal.close()
  })
})
