import { existsSync } from 'node:fs'
import { ToolLoopAgent } from 'ai'
import { openJournal } from 'toolwright'
import type { RecordPart } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../mcp/servers.ts'
import { allowAll, openScene, rule } from '../scene.ts'
import { modelOf, stagedOptions, startWeb } from './whole-session-fixture.ts'

/** An agent of whose calls each waits for something else: a server, a page, a command, a child's page, a user, an agreement. */
async function startWaiting() {
  const web = await startWeb()
  const journal = await openJournal('memory:')
  onTestFinished(() => journal.close())
  const parts: RecordPart[] = []
  const slow = { tool: 'web_fetch', input: { url: `${web.open.origin}/slow` } }
  const { manifest, host, ...options } = await stagedOptions(web)
  const waiting = new Set<string>()
  const never = (what: string, signal: AbortSignal): Promise<never> => {
    waiting.add(what)
    signal.addEventListener('abort', () => waiting.delete(what))
    return new Promise(() => undefined)
  }
  const scene = await openScene({
    ...options,
    manifest: {
      name: 'whole',
      ...manifest,
      permissions: [...(manifest?.permissions ?? allowAll), rule('write waits.txt ask')],
      agents: [{ name: 'helper', requires: manifest?.requires, model: modelOf([slow], [slow]) }],
    },
    toolSearch: { enabled: false },
    limits: { webFetchMs: 60_000 },
    host: { ...host, prompt: ({ signal }) => never('prompt', signal), question: (_, { signal }) => never('question', signal) },
    journal,
    onRecord: (part) => parts.push(part),
  })
  const task = { subagent_type: 'helper', prompt: 'Wait.' }
  const turn = [
    { tool: 'local_hangs', input: {} },
    { tool: 'remote_hangs', input: {} },
    slow,
    { tool: 'bash', input: { command: 'sleep 60' } },
    { tool: 'task', input: task },
    { tool: 'task', input: { ...task, background: true } },
    { tool: 'question', input: { questions: [{ question: 'Well?' }] } },
    { tool: 'write', input: { path: 'waits.txt', content: 'x' } },
  ]
  const { session } = scene
  const agent = new ToolLoopAgent({ model: modelOf(turn, 'Done.'), tools: session.tools, prepareStep: session.prepareStep })
  const controller = new AbortController()
  const work = agent.generate({ prompt: 'Wait.', abortSignal: controller.signal }).then(
    () => 'ended',
    () => 'aborted',
  )
  // One fetch of the parent, and one of each child, are on their way.
  await until(() => web.open.requests.length === 3 && waiting.size === 2)
  return { ...scene, web, journal, parts, waiting, controller, work }
}

describe('the end of a session in the middle of everything', () => {
  test.each<['abort' | 'close']>([['abort'], ['close']])(
    'R6 R54 after %s nothing waits any more, and the journal knows how every call ended',
    async (how) => {
      const { session, web, journal, parts, waiting, controller, work, at } = await startWaiting()
      const start = performance.now()
      if (how === 'abort') controller.abort()
      else await session.close()
      const outcome = await work
      expect(performance.now() - start).toBeLessThan(4_000)
      expect(outcome).toBe(how === 'abort' ? 'aborted' : 'ended')
      await session.close()
      await until(() => web.open.open() === 0)
      expect([...waiting]).toEqual([])
      expect(existsSync(at('waits.txt'))).toBe(false)

      const begun = parts.filter(({ type }) => type === 'call').map(({ call_id, session_id }) => `${session_id} ${call_id}`)
      expect(begun).toHaveLength(10)
      await until(() => parts.filter(({ type }) => type === 'result').length === begun.length)
      const ended = parts.flatMap((part) => (part.type === 'result' ? [part] : []))
      expect(ended.map(({ call_id, session_id }) => `${session_id} ${call_id}`).sort()).toEqual(begun.sort())
      for (const { tool, args, envelope } of ended) {
        const isBackground = (args as { background?: boolean }).background === true
        // A command gives what it has, and says that it was stopped.
        if (tool !== 'bash') expect(envelope.metadata.code, tool).toBe(isBackground ? 'ok' : 'aborted')
      }
      const all = await journal.listRun(session.id)
      const ofBackground = all.filter(({ nodeId }) => nodeId === 'contract/background')
      // A step that is prepared before everything has ended may be told of it, which is no call.
      const rows = all.filter(({ nodeId }) => nodeId !== 'contract/background' && nodeId !== 'contract/background-told')
      expect(rows).toHaveLength(begun.length)
      // What worked in the background is told to whoever opens the session again.
      expect(ofBackground).toMatchObject([{ status: 'error', errorJson: expect.stringMatching(/aborted by the parent/u) }])
      expect(rows.filter(({ status }) => status === 'started')).toEqual([])
    },
  )
})
