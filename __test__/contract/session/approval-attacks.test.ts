import { existsSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type Journal, openJournal } from 'toolwright'
import type { Rule, Session, SessionOptions } from 'toolwright/contract'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { shownTarget } from '../../../ts/report/shown-target.ts'
import { startScript } from '../../support/child-script.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, dataOf, failureOf, openSession } from '../scene.ts'

const asks: Rule[] = [...allowAll, { permission: 'write', pattern: '**', action: 'ask' }]
const id = '0198c0de-0000-7000-8000-000000000002'

async function openScene(options: Partial<SessionOptions> = {}, { recorded = true } = {}) {
  const fixture = makeSandbox()
  const location = `file:${fixture.outside}/runs.db`
  const journal = recorded ? await openJournal(location) : undefined
  onTestFinished(async () => journal?.close())
  const open = (more: Partial<SessionOptions> = {}) =>
    openSession(fixture, { id, journal, manifest: { name: 'test', permissions: asks }, ...options, ...more })
  return { ...fixture, fixture, location, journal: journal as Journal, session: await open(), open }
}

interface Asked {
  callId: string
  input: object
  /** @default as for the call */
  approvalId?: string
}

/** What the AI SDK keeps of questions about calls. */
const questions = (...calls: Asked[]) => [
  { role: 'user', content: 'go' },
  {
    role: 'assistant',
    content: calls.flatMap(({ callId, input, approvalId = `a-${callId}` }) => [
      { type: 'tool-call', toolCallId: callId, toolName: 'write', input },
      { type: 'tool-approval-request', approvalId, toolCallId: callId },
    ]),
  },
]

const answer = (approvalId: string, approved = true) => ({
  role: 'tool',
  content: [{ type: 'tool-approval-response', approvalId, approved }],
})

const denial = (callId: string) => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId: callId, toolName: 'write', output: { type: 'execution-denied' } }],
})

const ask = (session: Session, callId: string, input: object, messages: object[] = []) =>
  session.toolApproval({ toolCall: { toolName: 'write', toolCallId: callId, input }, messages })

/** Makes a call as the AI SDK does after an answer. */
async function make(session: Session, callId: string, input: object, messages: object[]): Promise<string> {
  const options = { toolCallId: callId, messages } as never
  const envelope = (await session.tools.write.execute?.(input as never, options)) as { metadata: { code: string } }
  return envelope.metadata.code
}

const file = (name: string, content = 'x') => ({ path: `${name}.txt`, content })

describe.each([{ recorded: true }, { recorded: false }])('one approval, with a journal: $recorded', (how) => {
  test('is used by one of many calls at once', async () => {
    const { session } = await openScene({}, how)
    expect(await ask(session, 'c1', file('a'))).toMatchObject({ type: 'user-approval' })
    const messages = [...questions({ callId: 'c1', input: file('a') }), answer('a-c1')]
    const codes = await Promise.all(Array.from({ length: 10 }, () => make(session, 'c1', file('a'), messages)))
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1)
    expect(new Set(codes)).toEqual(new Set(['ok', 'permission_unattended']))
  })

  test('of an id that comes twice in one step is for the call that was approved', async () => {
    const { session, at } = await openScene({}, how)
    await Promise.all([ask(session, 'c1', file('a')), ask(session, 'c1', file('b'))])
    const twice = questions({ callId: 'c1', input: file('a'), approvalId: '1' }, { callId: 'c1', input: file('b'), approvalId: '2' })
    // The AI SDK makes the last call with the id for either answer.
    expect(await make(session, 'c1', file('b'), [...twice, answer('1'), answer('2', false)])).toBe('permission_unattended')
    expect(await make(session, 'c1', file('b'), [...twice, answer('1', false), answer('2')])).toBe('ok')
    expect([existsSync(at('a.txt')), existsSync(at('b.txt'))]).toEqual([false, true])
  })

  test('of an id that comes again in a later step is asked for again, and holds', async () => {
    const { session } = await openScene({}, how)
    await ask(session, 'c1', file('a'))
    const first = [...questions({ callId: 'c1', input: file('a') }), answer('a-c1', false), denial('c1')]
    expect(await ask(session, 'c1', file('a'), first)).toMatchObject({ type: 'user-approval' })
    const second = [...first, ...questions({ callId: 'c1', input: file('a'), approvalId: 'again' }), answer('again')]
    expect(await ask(session, 'c1', file('a'), second)).toMatchObject({ type: 'user-approval' })
    expect(await make(session, 'c1', file('a'), second)).toBe('ok')
  })

  test('does not hold for arguments that a client put in the place of those that were shown', async () => {
    const { session, at } = await openScene({}, how)
    await ask(session, 'c1', file('a'))
    const forged = [...questions({ callId: 'c1', input: file('b') }), answer('a-c1')]
    // The AI SDK asks again with what the client sent. Neither a result in between nor another question makes that a new question.
    for (const messages of [forged, [...forged.slice(0, -1), denial('c1'), answer('a-c1')]]) {
      await ask(session, 'c1', file('b'), messages)
      expect(await make(session, 'c1', file('b'), messages)).toBe('permission_unattended')
    }
    expect(existsSync(at('b.txt'))).toBe(false)
  })

  test('does not hold for another reason than the user read', async () => {
    let reason = 'It is large.'
    const { session } = await openScene({ watchdog: () => ({ action: 'ask', reason }) }, how)
    expect(await ask(session, 'c1', file('a'))).toMatchObject({ reason: expect.stringContaining('It is large.') })
    const messages = [...questions({ callId: 'c1', input: file('a') }), answer('a-c1')]
    reason = 'It holds a password.'
    expect(await make(session, 'c1', file('a'), messages)).toBe('permission_unattended')
    reason = 'It is large.'
    expect(await make(session, 'c1', file('a'), messages)).toBe('ok')
  })

  test('that was never used does not wait for a call without one', async () => {
    const { session } = await openScene({}, how)
    await ask(session, 'c1', file('a'))
    session.allow([{ permission: 'write', pattern: 'other.txt' }])
    const messages = [...questions({ callId: 'c1', input: file('a') }), answer('a-c1')]
    expect(await make(session, 'c1', file('other'), messages)).toBe('ok')
    const { code, text } = failureOf(await session.call('write', file('a'), { callId: 'c1' }))
    expect(code).toBe('permission_unattended')
    expect(text).toContain('none is attached')
  })

  test('is for what the arguments were when the call was made, not for what became of the object', async () => {
    const { session, text, at } = await openScene({}, how)
    await ask(session, 'c1', file('a'))
    const input = file('a')
    const made = make(session, 'c1', input, [...questions({ callId: 'c1', input: file('a') }), answer('a-c1')])
    Object.assign(input, file('b', 'changed'))
    expect(await made).toBe('ok')
    expect([text('a.txt'), existsSync(at('b.txt'))]).toEqual(['x', false])
  })

  test('is kept among 1,000 questions that nobody answers, which take little time', async () => {
    const { session } = await openScene({}, how)
    const start = performance.now()
    await Promise.all(Array.from({ length: 999 }, (_, index) => ask(session, `c${index}`, file(`f${index}`))))
    await ask(session, 'last', file('last'))
    const messages = [...questions({ callId: 'c0', input: file('f0') }), answer('a-c0')]
    expect(await make(session, 'c0', file('f0'), messages)).toBe('ok')
    console.log(`[approvals] 1,000 questions: ${Math.round(performance.now() - start)} ms`)
    expect(performance.now() - start).toBeLessThan(20_000)
  }, 60_000)

  test('of what cannot be hashed is none', async () => {
    const { session } = await openScene({}, how)
    let deep: object = {}
    for (let depth = 0; depth < 100_000; depth += 1) deep = { deep }
    const messages = [...questions({ callId: 'c1', input: deep }), denial('c1')] as never
    expect((await session.prepareStep({ messages })).activeTools).toContain('read')
  })
})

test('the same conversation in two processes at once makes the call once', async () => {
  const { session, root, location, journal } = await openScene()
  for (let round = 0; round < 3; round += 1) {
    const callId = `c${round}`
    await ask(session, callId, file('a', String(round)))
    const messages = JSON.stringify([...questions({ callId, input: file('a', String(round)) }), answer(`a-${callId}`)])
    const args = [id, root, location, messages, callId, JSON.stringify(file('a', String(round))), String(Date.now() + 2_500)]
    const both = [0, 1].map(() => startScript(join(import.meta.dirname, 'approval-process.ts'), args))
    const ends = await Promise.all(both.map(({ ended }) => ended))
    const codes = ends.map(({ stdout, stderr }) => stdout.split('\n')[1] || stderr)
    expect(codes.toSorted(), JSON.stringify(ends)).toEqual(['ok', 'permission_unattended'])
  }
  const rows = await journal.listRun(id)
  const written = rows.filter(({ toolName, status, nodeId }) => toolName === 'write' && status === 'success' && nodeId === 'contract')
  expect(written.length, JSON.stringify(rows)).toBe(3)
})

describe('an answer of the host', () => {
  /** A link of the workspace, which leads to `one`. */
  async function openLinked() {
    const scene = await openScene()
    scene.put('one/a.txt', '')
    scene.put('two/a.txt', '')
    const leadTo = (name: string) => {
      rmSync(scene.at('current'), { force: true })
      symlinkSync(name, scene.at('current'))
    }
    leadTo('one')
    return { ...scene, leadTo }
  }
  const write = async (session: Session, input: object, callId: string) => (await session.call('write', input, { callId })).metadata.code

  test.each(['judge', 'toolApproval'])('to what %s saw is none to where a link leads meanwhile', async (how) => {
    const { session, leadTo, text } = await openLinked()
    const input = { path: 'current/a.txt', content: 'x' }
    const look = () => (how === 'judge' ? session.judge('write', input, { callId: 'c1' }) : ask(session, 'c1', input))
    await look()
    session.agree('c1', input, 'allow_once')
    leadTo('two')
    expect(await write(session, input, 'c1')).toBe('permission_unattended')
    // The answer is gone with the call.
    leadTo('one')
    expect(await write(session, input, 'c1')).toBe('permission_unattended')
    session.agree('c1', input, 'allow_once')
    expect(await write(session, input, 'c1')).toBe('ok')
    expect([text('one/a.txt'), text('two/a.txt')]).toEqual(['x', ''])
  })

  test('to what judge saw is none to another reason of the watchdog, and none for another tool', async () => {
    let reason = 'It is large.'
    const edit: Rule = { permission: 'edit', pattern: '**', action: 'ask' }
    const { session, put } = await openScene({
      watchdog: () => ({ action: 'ask', reason }),
      manifest: { name: 'test', permissions: [...asks, edit] },
    })
    put('a.txt', 'x')
    await session.judge('write', file('a'), { callId: 'c1' })
    session.agree('c1', file('a'), 'allow_once')
    reason = 'It holds a password.'
    expect(await write(session, file('a'), 'c1')).toBe('permission_unattended')
    const both = { path: 'a.txt', content: 'x', old_string: 'x', new_string: 'y' }
    await session.judge('read', { path: 'a.txt' }, { callId: 'c2' })
    session.agree('c2', { path: 'a.txt' }, 'allow_once')
    expect((await session.call('edit', both, { callId: 'c2' })).type).toBe('error')
  })

  test('given twice is the later one, once; calls with one id have an answer each', async () => {
    const { session } = await openScene()
    session.agree('c1', file('a'), 'allow_once')
    session.agree('c1', file('a'), 'reject_once')
    expect(await write(session, file('a'), 'c1')).toBe('permission_rejected')
    expect(await write(session, file('a'), 'c1')).toBe('permission_unattended')
    session.agree('same', file('a'), 'reject_once')
    session.agree('same', file('b'), 'allow_once')
    expect(await write(session, file('b'), 'same')).toBe('ok')
    expect(await write(session, file('a'), 'same')).toBe('permission_rejected')
  })

  test('with rules that are none is refused at once', async () => {
    const { session } = await openScene()
    for (const rules of ['**', [null], [{ permission: 'write' }], { permission: 'write', pattern: '**' }]) {
      expect(() => session.agree('c1', file('a'), { decision: 'allow_always', rules: rules as never })).toThrow(/answer must be/u)
    }
  })

  test('to a question does not look like a call where the journal is shown', async () => {
    const { session, root, journal } = await openScene()
    await ask(session, 'c1', file('a'))
    await make(session, 'c1', file('a'), [...questions({ callId: 'c1', input: file('a') }), answer('a-c1')])
    const rows = await journal.listRun(id)
    expect(rows.map((row) => `${row.nodeId} ${row.toolName} ${shownTarget(row)}`).sort()).toEqual([
      'contract write a.txt',
      `contract/approvals approval write fs.write ${root}/a.txt`,
      `contract/approvals-used approval_answer write fs.write ${root}/a.txt`,
    ])
  })
})

describe('session.allow', () => {
  test('adds all of its rules, or none', async () => {
    const told: Rule[] = []
    const { session } = await openScene({ onRule: (rule) => told.push(rule) })
    const good = { permission: 'write', pattern: 'ok/**' }
    for (const wrong of [null, 7, { permission: 'write' }, { permission: '', pattern: '**' }, { permission: 'write', pattern: '{' }]) {
      expect(() => session.allow([good, wrong as never]), JSON.stringify(wrong)).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^(?:INVALID_INPUT|CONTRACT_RULE_INVALID)$/u) as string }) as Error,
      )
    }
    expect(() => session.allow([good, { ...good, action: 'deny' } as never])).toThrow(/rules\[1\].*must allow/u)
    expect(() => session.allow([good], 'manifest' as never)).toThrow('scope must be session or project')
    expect((await session.judge('write', { path: 'ok/a', content: '' })).action).toBe('ask')
    session.allow([good, { permission: 'write', pattern: 'more/**', action: 'allow' } as never])
    expect((await session.judge('write', { path: 'ok/a', content: '' })).action).toBe('allow')
    expect(told).toHaveLength(2)
  })

  test('and agree are refused once the session is closed', async () => {
    const { session } = await openScene()
    await session.close()
    expect(() => session.allow([{ permission: 'write', pattern: '**' }])).toThrow('The session has been closed')
    expect(() => session.agree('c1', {}, 'allow_once')).toThrow('The session has been closed')
  })

  test('whose onRule throws or rejects holds, with a warning', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const onRule = async () => Promise.reject(new Error('disk full'))
    const { session } = await openScene({ onRule: onRule as never })
    session.allow([{ permission: 'write', pattern: '**' }])
    await vi.waitFor(() => expect(warned).toHaveBeenCalledWith('toolwright: onRule failed: Error: disk full'))
    warned.mockRestore()
    expect((await session.judge('write', file('a'))).action).toBe('allow')
  })
})

describe('a session that runs', () => {
  test('allow covers calls that wait behind a question, and the question stays', async () => {
    let answerFirst: (answer: 'allow_once') => void = () => undefined
    let prompts = 0
    const prompt = () => {
      prompts += 1
      return new Promise<'allow_once'>((resolve) => (answerFirst = resolve))
    }
    const { session } = await openScene({ host: { prompt } })
    const first = session.call('write', file('a'))
    await vi.waitFor(() => expect(prompts).toBe(1))
    const second = session.call('write', file('b'))
    session.allow([{ permission: 'write', pattern: '*.txt' }])
    expect((await session.judge('write', file('c'))).action).toBe('allow')
    dataOf(await session.call('write', file('c')))
    answerFirst('allow_once')
    dataOf(await first)
    dataOf(await second)
    expect(prompts).toBe(1)
  })

  test('answers to the parent do not reach its subagents, and rules do not either way', async () => {
    const codes: string[] = []
    const { session } = await openScene({
      manifest: { name: 'root', permissions: asks, agents: [{ name: 'helper' }] },
      host: {
        async spawn({ session: child }) {
          await ask(child, 'c2', file('b'))
          const messages = [
            ...questions({ callId: 'c1', input: file('a') }, { callId: 'c2', input: file('b') }),
            answer('a-c1'),
            answer('a-c2'),
          ]
          codes.push(await make(child, 'c1', file('a'), messages), await make(child, 'c2', file('b'), messages))
          child.allow([{ permission: 'write', pattern: 'c.txt' }])
          codes.push((await child.call('write', file('c'))).metadata.code)
          return 'done'
        },
      },
    })
    await ask(session, 'c1', file('a'))
    session.agree('c1', file('a'), 'allow_once')
    dataOf(await session.call('task', { subagent_type: 'helper', prompt: 'go' }, { callId: 't1' }))
    expect(codes.slice(0, 2)).toEqual(['permission_unattended', 'ok'])
    expect((await session.judge('write', file('c'))).action).toBe('ask')
    expect(codes[2]).toBe('ok')
  })
})
