import { existsSync, rmSync, symlinkSync } from 'node:fs'
import { ToolLoopAgent, type ModelMessage } from 'ai'
import { generateText as generateText6, type ModelMessage as ModelMessage6, stepCountIs, type ToolSet as ToolSet6 } from 'ai-6'
import { MockLanguageModelV3 } from 'ai-6/test'
import { MockLanguageModelV4 } from 'ai/test'
import { type Journal, openJournal } from 'toolwright'
import { needsApproval, type Rule, type Session, type SessionOptions } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { argumentsHash } from '../../../ts/contract/call/approvals.ts'
import { type ScriptedCall, script, seenBy } from '../../support/scripted-model.ts'
import { makeSandbox, type Sandbox } from '../../support/sandbox.ts'
import { dataOf, openSession } from '../scene.ts'

const askForWrites: Rule[] = [
  { permission: '*', pattern: '**', action: 'allow' },
  { permission: 'write', pattern: '**', action: 'ask' },
  { permission: 'write', pattern: 'secret/**', action: 'deny' },
]
const id = '0198c0de-0000-7000-8000-000000000001'

interface Scene {
  fixture: Sandbox
  journal: Journal
  session: Session
  /** The session of another process: the same id and journal, without what this process remembers. */
  restart(options?: Partial<SessionOptions>): Promise<Session>
}

async function openScene(): Promise<Scene> {
  const fixture = makeSandbox()
  const journal = await openJournal(`file:${fixture.outside}/runs.db`)
  onTestFinished(() => journal.close())
  const open = (options: Partial<SessionOptions> = {}) =>
    openSession(fixture, { id, journal, manifest: { name: 'test', permissions: askForWrites }, ...options })
  return { fixture, journal, session: await open(), restart: open }
}

const write = (path: string, callId: string, content = 'text'): ScriptedCall => ({ tool: 'write', input: { path, content }, id: callId })

interface Round {
  messages: ModelMessage[]
  /** The ids of the questions, by call. */
  questions: Map<string, string>
  seen: ReturnType<typeof seenBy>
}

interface Sdk {
  name: string
  run(session: Session, messages: ModelMessage[], turns: Parameters<typeof script>, secret?: string): Promise<Round>
}

/** What a run ended with: the conversation with its answer, and the questions in it. */
function roundOf(before: ModelMessage[], after: readonly ModelMessage[], model: Parameters<typeof seenBy>[0]): Round {
  const messages = [...before, ...after]
  const parts = after.flatMap(({ content }) => (typeof content === 'string' ? [] : (content as { type: string }[])))
  const requests = parts.filter(({ type }) => type === 'tool-approval-request') as unknown as { approvalId: string; toolCallId: string }[]
  const questions = new Map(requests.map(({ approvalId, toolCallId }) => [toolCallId, approvalId]))
  return { messages, questions, seen: model.doGenerateCalls.length === 0 ? [] : seenBy(model) }
}

const sdks: Sdk[] = [
  {
    name: 'AI SDK 7',
    async run(session, messages, turns, secret) {
      const model = new MockLanguageModelV4({ doGenerate: script(...turns) })
      const { tools, toolApproval, prepareStep } = session
      const signed = secret === undefined ? {} : { experimental_toolApprovalSecret: secret }
      const agent = new ToolLoopAgent({ model, tools, toolApproval, prepareStep, ...signed })
      const { response } = await agent.generate({ messages })
      return roundOf(messages, response.messages, model)
    },
  },
  {
    name: 'AI SDK 6',
    async run(session, messages, turns, secret) {
      const model = new MockLanguageModelV3({ doGenerate: script(...turns) })
      const tools = needsApproval(session.tools, session.toolApproval) as unknown as ToolSet6
      const signed = secret === undefined ? {} : { experimental_toolApprovalSecret: secret }
      const { response } = await generateText6({
        model,
        tools,
        messages: messages as ModelMessage6[],
        stopWhen: stepCountIs(5),
        prepareStep: session.prepareStep as never,
        ...signed,
      })
      return roundOf(messages, response.messages as unknown as ModelMessage[], model as never)
    },
  },
]

/** The conversation with the user's answers. */
function answered({ messages, questions }: Round, answers: Record<string, boolean>): ModelMessage[] {
  const content = Object.entries(answers).map(([callId, approved]) => ({
    type: 'tool-approval-response' as const,
    approvalId: questions.get(callId) as string,
    approved,
    ...(approved ? {} : { reason: 'not now' }),
  }))
  return [...messages, { role: 'tool', content }]
}

const start: ModelMessage[] = [{ role: 'user', content: 'Write it.' }]

/** The rows of the session's own calls: tool, call and outcome. */
async function rowsOf({ journal }: Scene): Promise<string[]> {
  const rows = (await journal.listRun(id)).filter(({ nodeId }) => nodeId === 'contract')
  return rows.map(({ toolName, callToken, status, errorJson }) => {
    const { code = status } = JSON.parse(errorJson ?? '{}') as { code?: string }
    // The token of a row ends in what makes it unique.
    return `${toolName} ${callToken?.split(' ')[0]} ${code}`
  })
}

describe.each(sdks)('approvals with the $name', ({ run }) => {
  test('a call that is approved is made, without another question, and has one row', async () => {
    const scene = await openScene()
    const asked = await run(scene.session, start, [[write('a.txt', 'w1')]])
    expect([...asked.questions.keys()]).toEqual(['w1'])
    expect(await rowsOf(scene)).toEqual([])
    expect(existsSync(scene.fixture.at('a.txt'))).toBe(false)
    await run(scene.session, answered(asked, { w1: true }), ['done'])
    expect(scene.fixture.text('a.txt')).toBe('text')
    expect(await rowsOf(scene)).toEqual(['write w1 success'])
  })

  test('a call that is denied is not made, and has a row with the reason', async () => {
    const scene = await openScene()
    const asked = await run(scene.session, start, [[write('a.txt', 'w1')]])
    const answer = answered(asked, { w1: false })
    await run(scene.session, answer, [[{ tool: 'read', input: { path: 'b' }, id: 'r1' }], 'done'])
    expect(existsSync(scene.fixture.at('a.txt'))).toBe(false)
    expect(await rowsOf(scene)).toEqual(['write w1 permission_rejected', 'read r1 not_found'])
    const [row] = await scene.journal
      .listRun(id)
      .then((rows) => rows.filter(({ callToken, nodeId }) => callToken?.startsWith('w1') === true && nodeId === 'contract'))
    expect(JSON.parse(row?.errorJson ?? '{}')).toMatchObject({
      message: 'The user rejected this call of write (not now). Do not repeat it; ask what to do instead.',
    })
    expect(row?.acted).toBe(false)
    // Another look at the same conversation records nothing again.
    await run(await scene.restart(), answer, ['done'])
    expect(await rowsOf(scene)).toHaveLength(2)
  })

  test('the answer can come to another process, once', async () => {
    const scene = await openScene()
    const asked = await run(scene.session, start, [[write('a.txt', 'w1')]])
    const other = await scene.restart()
    await run(other, answered(asked, { w1: true }), ['done'])
    expect(scene.fixture.text('a.txt')).toBe('text')
    expect(await rowsOf(scene)).toEqual(['write w1 success'])
    scene.fixture.put('a.txt', 'changed since')
    // The same conversation sent once more.
    await run(await scene.restart(), answered(asked, { w1: true }), ['done'])
    expect(scene.fixture.text('a.txt')).toBe('changed since')
  })

  test('an approval of other arguments does not count', async () => {
    const scene = await openScene()
    const asked = await run(scene.session, start, [[write('a.txt', 'w1')]])
    const changed = JSON.parse(JSON.stringify(answered(asked, { w1: true })).replaceAll('"text"}', '"other"}')) as ModelMessage[]
    expect(changed).not.toEqual(answered(asked, { w1: true }))
    const { seen } = await run(scene.session, changed, ['done'])
    expect(existsSync(scene.fixture.at('a.txt'))).toBe(false)
    expect(String(seen[0]?.output.value)).toContain('permission_unattended')
  })

  test('an approval that nobody was asked for does not count', async () => {
    const scene = await openScene()
    const asked = await run(scene.session, start, [[write('a.txt', 'w1')]])
    const forged = JSON.parse(JSON.stringify(answered(asked, { w1: true })).replaceAll('w1', 'w2')) as ModelMessage[]
    await run(scene.session, forged, ['done'])
    expect(existsSync(scene.fixture.at('a.txt'))).toBe(false)
  })

  test('a rule that denies meanwhile wins over the approval', async () => {
    const scene = await openScene()
    const asked = await run(scene.session, start, [[write('a.txt', 'w1')]])
    const stricter: Rule[] = [...askForWrites, { permission: 'write', pattern: 'a.txt', action: 'deny' }]
    const other = await scene.restart({ manifest: { name: 'test', permissions: stricter } })
    await run(other, answered(asked, { w1: true }), ['done'])
    expect(existsSync(scene.fixture.at('a.txt'))).toBe(false)
    expect(await rowsOf(scene)).toEqual(['write w1 permission_denied'])
  })

  test('a link that leads elsewhere meanwhile is not what was approved', async () => {
    const scene = await openScene()
    scene.fixture.put('one/a.txt', '')
    scene.fixture.put('two/a.txt', '')
    symlinkSync('one', scene.fixture.at('current'))
    const asked = await run(scene.session, start, [[write('current/a.txt', 'w1')]])
    rmSync(scene.fixture.at('current'))
    symlinkSync('two', scene.fixture.at('current'))
    await run(scene.session, answered(asked, { w1: true }), ['done'])
    expect([scene.fixture.text('one/a.txt'), scene.fixture.text('two/a.txt')]).toEqual(['', ''])
    expect(await rowsOf(scene)).toEqual(['write w1 permission_unattended'])
  })

  test('five calls of one step are asked about and answered one by one', async () => {
    const scene = await openScene()
    const calls = ['a', 'b', 'c', 'd', 'secret/e'].map((name, index) => write(`${name}.txt`, `w${index}`))
    const asked = await run(scene.session, start, [[...calls]])
    // What a rule denies is not asked about: it fails by itself.
    expect([...asked.questions.keys()].sort()).toEqual(['w0', 'w1', 'w2', 'w3'])
    await run(scene.session, answered(asked, { w0: true, w1: false, w2: true, w3: false }), ['done'])
    expect(['a', 'b', 'c', 'd'].map((name) => existsSync(scene.fixture.at(`${name}.txt`)))).toEqual([true, false, true, false])
    expect((await rowsOf(scene)).sort()).toEqual([
      'write w0 success',
      'write w1 permission_rejected',
      'write w2 success',
      'write w3 permission_rejected',
      'write w4 permission_denied',
    ])
  })

  test('the signature of the SDK is checked before anything else', async () => {
    const scene = await openScene()
    const asked = await run(scene.session, start, [[write('a.txt', 'w1')]], 'secret')
    const tampered = JSON.parse(JSON.stringify(answered(asked, { w1: true })).replaceAll('"text"}', '"other"}')) as ModelMessage[]
    await expect(run(scene.session, tampered, ['done'], 'secret')).rejects.toThrow(/signature/iu)
    expect(existsSync(scene.fixture.at('a.txt'))).toBe(false)
    await run(scene.session, answered(asked, { w1: true }), ['done'], 'secret')
    expect(scene.fixture.text('a.txt')).toBe('text')
  })
})

describe('judge', () => {
  test('says what would be decided, and leaves nothing behind', async () => {
    const { session, fixture, journal } = await openScene()
    expect(await session.judge('read', { path: 'a.txt' })).toMatchObject({ action: 'allow', subjects: [{ capability: 'fs.read' }] })
    expect(await session.judge('write', { path: 'a.txt', content: '' })).toEqual({
      action: 'ask',
      subjects: [{ capability: 'fs.write', resource: `${fixture.root}/a.txt`, action: 'ask', why: undefined }],
      reason: undefined,
      rules: [{ permission: 'write', pattern: 'a.txt' }],
    })
    expect(await session.judge('write', { path: 'secret/a', content: '' })).toMatchObject({
      action: 'deny',
      code: 'permission_denied',
      error_text: expect.stringContaining('secret/**') as string,
    })
    expect(await session.judge('write', { path: 7 })).toMatchObject({ action: 'deny', code: 'invalid_arguments', subjects: [] })
    expect(await session.judge('read', { path: '/etc/shadow' })).toMatchObject({ action: 'deny', code: 'capability_refused' })
    expect(await session.judge('no_such_tool', {})).toMatchObject({ action: 'deny' })
    expect(await journal.listRuns()).toEqual([])
    expect(existsSync(fixture.at('a.txt'))).toBe(false)
  })

  test('asks the watchdog and not the user', async () => {
    let prompts = 0
    const prompt = () => {
      prompts += 1
      return 'allow_once' as const
    }
    const session = await openSession(makeSandbox(), { watchdog: () => ({ action: 'ask', reason: 'looks odd' }), host: { prompt } })
    expect(await session.judge('read', { path: 'a' })).toMatchObject({ action: 'ask', reason: 'looks odd' })
    expect(prompts).toBe(0)
  })

  test('of a session that is closed denies', async () => {
    const { session } = await openScene()
    await session.close()
    expect(await session.judge('read', { path: 'a' })).toMatchObject({ action: 'deny', code: 'aborted' })
  })
})

describe('agree and allow', () => {
  test('an answer holds for one call with the same arguments', async () => {
    const { session } = await openScene()
    const args = { path: 'a.txt', content: 'x' }
    session.agree('c1', { content: 'x', path: 'a.txt' }, 'allow_once')
    expect((await session.call('write', { ...args, content: 'y' }, { callId: 'c1' })).metadata.code).toBe('permission_unattended')
    session.agree('c1', args, 'allow_once')
    dataOf(await session.call('write', args, { callId: 'c1' }))
    expect((await session.call('write', args, { callId: 'c1' })).metadata.code).toBe('permission_unattended')
    session.agree('c2', args, 'reject_once')
    expect((await session.call('write', args, { callId: 'c2' })).metadata.code).toBe('permission_rejected')
  })

  test('arguments without JSON are equal to no others', () => {
    expect(argumentsHash({ b: 1, a: [2] })).toBe(argumentsHash({ a: [2], b: 1 }))
    expect(argumentsHash({ a: 1n })).not.toBe(argumentsHash({ a: 2n }))
    expect(argumentsHash({ a: 1n })).not.toBe(argumentsHash({ a: 1n }))
  })

  test('a row that is no question is passed over', async () => {
    const scene = await openScene()
    const odd = { runId: id, nodeId: 'contract/approvals', attempt: 1, toolName: 'write', callToken: 'odd', sideEffect: true } as const
    for (const [index, inputJson] of ['{"cut', 'null', '[]', '{"args":1}'].entries()) {
      await scene.journal.insertToolCall({ ...odd, callToken: `odd-${index}`, seq: index + 1, status: 'success', inputJson })
    }
    const asked = await sdks[0]!.run(scene.session, start, [[write('a.txt', 'w1')]])
    await sdks[0]!.run(await scene.restart(), answered(asked, { w1: true }), ['done'])
    expect(scene.fixture.text('a.txt')).toBe('text')
  })

  test('an always records the suggested rules', async () => {
    const rules: Rule[] = []
    const session = await openSession(makeSandbox(), {
      manifest: { name: 'test', permissions: askForWrites },
      onRule: (rule) => rules.push(rule),
    })
    const args = { path: 'a.txt', content: 'x' }
    session.agree('c1', args, 'allow_always')
    dataOf(await session.call('write', args, { callId: 'c1' }))
    dataOf(await session.call('write', args))
    expect(rules).toMatchObject([{ permission: 'write', pattern: 'a.txt', action: 'allow' }])
  })

  test('rules that are allowed hold from now on, and the host gets them', async () => {
    const rules: Rule[] = []
    const session = await openSession(makeSandbox(), {
      manifest: { name: 'test', permissions: askForWrites },
      onRule: (rule) => rules.push(rule),
    })
    session.allow([{ permission: 'write', pattern: 'docs/**' }], 'project')
    dataOf(await session.call('write', { path: 'docs/a.md', content: '' }))
    expect((await session.call('write', { path: 'a.md', content: '' })).metadata.code).toBe('permission_unattended')
    expect(rules).toMatchObject([{ permission: 'write', pattern: 'docs/**', action: 'allow' }])
    expect((await session.judge('write', { path: 'secret/a', content: '' })).action).toBe('deny')
    expect(() => session.allow([{ permission: 7 as never, pattern: 'a' }])).toThrow()
    expect(() => session.agree('c', {}, 'yes' as never)).toThrow()
  })
})
