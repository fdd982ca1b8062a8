import { generateText as generateText6, stepCountIs, type ToolSet as ToolSet6 } from 'ai-6'
import { MockLanguageModelV3 } from 'ai-6/test'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { openJournal } from 'toolwright'
import { builtInTools, replaySession, toAcpToolCall, type AcpToolCall, type RecordPart, type SessionOptions } from 'toolwright/contract'
import { envelopeProblem } from 'toolwright/contract/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { script, seenBy, type Turn } from '../../support/scripted-model.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { acpProblems } from '../acp/acp-schema.ts'
import { allowAll, openScene, testTool } from '../scene.ts'

/** Every tool, with successes and failures, some of them at once. */
const turns: Turn[] = [
  [
    { tool: 'write', input: { path: 'src/a.ts', content: 'export const a = 1\n' } },
    { tool: 'todo', input: { todos: [{ content: 'fix a', status: 'in_progress' }] } },
  ],
  [
    { tool: 'read', input: { path: 'src/a.ts' } },
    { tool: 'glob', input: { pattern: '**/*.ts' } },
    { tool: 'grep', input: { pattern: 'a =' } },
  ],
  [{ tool: 'edit', input: { path: 'src/a.ts', old_string: 'a = 1', new_string: 'a = 2' } }],
  [{ tool: 'bash', input: { command: 'cat src/a.ts', description: 'Show it' } }],
  [
    { tool: 'skill', input: { name: 'no-such-skill' } },
    { tool: 'tool_search', input: { query: 'issues' } },
    { tool: 'task', input: { subagent_type: 'nobody', prompt: 'Help.' } },
  ],
  [{ tool: 'question', input: { questions: [{ question: 'Is it good?', options: [{ label: 'yes' }, { label: 'no' }] }] } }],
  [
    { tool: 'read', input: { path: 'nothing.ts' } },
    { tool: 'read', input: { path: '/etc/shadow' } },
    { tool: 'edit', input: { path: 'src/a.ts', old_string: 'none', new_string: 'x' } },
    { tool: 'grep', input: { pattern: 7 } },
    // Nothing grants a host, and the provider is down.
    { tool: 'web_fetch', input: { url: 'https://example.com/' } },
    { tool: 'web_search', input: { query: 'x' } },
  ],
  'Done.',
]
const calls = turns.flatMap((turn) => (typeof turn === 'string' ? [] : turn))

/** So that all of them have something behind them, and are offered. */
const tools = [testTool('later', () => 1, { extension: true })]
const webSearch = [{ id: 'down', host: 'search.example.com', search: () => Promise.reject(new Error('It is down.')) }]

async function run({ manifest, host, ...options }: Partial<SessionOptions>) {
  const journal = await openJournal('memory:')
  onTestFinished(() => journal.close())
  const parts: RecordPart[] = []
  const skills = makeSandbox()
  skills.put('one/SKILL.md', '---\nname: one\ndescription: One.\n---\nBody.\n')
  const scene = await openScene({
    journal,
    onRecord: (part) => parts.push(part),
    tools,
    ...options,
    manifest: { permissions: allowAll, ...manifest, name: 'all', agents: [{ name: 'helper' }], skills: [{ path: skills.root }] },
    host: { webSearch, ...host },
  })
  const model = new MockLanguageModelV4({ doGenerate: script(...turns) })
  const agent = new ToolLoopAgent({ model, tools: scene.session.tools })
  const { text } = await agent.generate({ prompt: 'Fix it.' })
  expect(text).toBe('Done.')
  return { ...scene, journal, parts, model }
}

/** What a client of the Agent Client Protocol would be told. */
function transcript(parts: RecordPart[], workspace: string): AcpToolCall[] {
  return parts.map((part) => {
    const call = { id: part.call_id, tool: part.tool, args: part.args }
    return toAcpToolCall(call, part.type === 'result' ? part.envelope : undefined, { workspace })
  })
}

describe('a ToolLoopAgent over all tools', () => {
  test.each<[string, Partial<SessionOptions>, string[]]>([
    ['headless', {}, ['question_unavailable']],
    ['with a host', { manifest: { name: 'all', permissions: [] }, host: { prompt: () => 'allow_once', question: () => [['yes']] } }, []],
  ])('%s: complete journal, complete ACP transcript, byte-equal replay', async (_how, options, more) => {
    const { session, journal, parts, model, root, text } = await run(options)
    expect(text('src/a.ts')).toBe('export const a = 2\n')
    expect(new Set(calls.map(({ tool }) => tool))).toEqual(new Set(builtInTools.map(({ id }) => id)))

    const results = seenBy(model)
    expect(results).toHaveLength(calls.length)
    const envelopes = results.map(({ output }) => JSON.parse(String(output.value)))
    for (const envelope of envelopes) expect(envelopeProblem(envelope)).toBeUndefined()
    const failed = envelopes.filter(({ type }) => type === 'error').map(({ metadata }) => metadata.code)
    const codes = [
      'capability_refused',
      'capability_refused',
      'conflict',
      'invalid_arguments',
      'invalid_arguments',
      'invalid_arguments',
      'network_failed',
      'not_found',
    ]
    expect(failed.sort()).toEqual([...codes, ...more].sort())
    for (const { output } of results) {
      expect(output.type).toBe(JSON.parse(String(output.value)).type === 'error' ? 'error-text' : 'text')
    }

    const rows = await journal.listRun(session.id)
    expect(rows.map(({ callToken }) => callToken).sort()).toEqual(results.map(({ toolCallId }) => toolCallId).sort())
    expect(rows.every(({ status }) => status === 'success' || status === 'error')).toBe(true)

    const updates = transcript(parts, root)
    expect(updates).toHaveLength(2 * calls.length)
    for (const update of updates) expect(acpProblems('ToolCall', update)).toBeNull()
    for (const { toolCallId } of results) {
      const statuses = updates.filter((update) => update.toolCallId === toolCallId).map(({ status }) => status)
      expect(statuses).toEqual(['in_progress', expect.stringMatching(/completed|failed/u)])
    }

    const replay = await replaySession(journal, session.id, { tools })
    const again = new MockLanguageModelV4({ doGenerate: script(...turns) })
    await new ToolLoopAgent({ model: again, tools: replay.tools }).generate({ prompt: 'Fix it.', abortSignal: replay.signal })
    replay.finish()
    expect(JSON.stringify(seenBy(again))).toBe(JSON.stringify(results))
  })

  test('AI SDK 6 takes the tools as well', async () => {
    const { session, put } = await openScene()
    put('a.txt', 'text')
    const model = new MockLanguageModelV3({
      doGenerate: script(
        [
          { tool: 'read', input: { path: 'a.txt' } },
          { tool: 'read', input: { path: 7 } },
        ],
        'Done.',
      ) as never,
    })
    await generateText6({ model, tools: session.tools as unknown as ToolSet6, prompt: 'Read.', stopWhen: stepCountIs(3) })
    const [good, bad] = seenBy(model as never)
    expect(JSON.parse(String(good?.output.value))).toMatchObject({ type: 'output', data: { content: 'text' } })
    expect(bad?.output.type).toBe('error-text')
    expect(JSON.parse(String(bad?.output.value))).toMatchObject({ type: 'error', metadata: { code: 'invalid_arguments' } })
  })

  test('an abort of the run stops the calls of the session', async () => {
    const { session, put } = await openScene()
    put('a.txt', 'x')
    const model = new MockLanguageModelV4({ doGenerate: script([{ tool: 'bash', input: { command: 'sleep 60' } }], 'Done.') })
    const agent = new ToolLoopAgent({ model, tools: session.tools })
    const start = performance.now()
    await expect(agent.generate({ prompt: 'Wait.', abortSignal: AbortSignal.timeout(300) })).rejects.toThrow()
    expect(performance.now() - start).toBeLessThan(2_000)
  })
})
