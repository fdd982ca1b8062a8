import fc from 'fast-check'
import { ContractFailure, contractCodes, type Envelope, type WatchedCall } from 'toolwright/contract'
import { envelopeProblem } from 'toolwright/contract/testing'
import { describe, expect, test } from 'vitest'
import { expectGone, sleepingMark } from '../../support/processes.ts'
import { runs, seed } from '../../support/randomised.ts'
import { dataOf, failureOf, manifest, openScene, rule, testTool } from '../scene.ts'

/** A session whose every stage writes down that it was reached, over one tool that reads `path`. */
async function stages(options: { rules?: string[]; verdict?: 'allow' | 'deny' | 'ask'; answer?: 'allow_once' | 'reject_once' }) {
  const reached: string[] = []
  const { rules = ['* ** allow'], verdict = 'allow', answer = 'allow_once' } = options
  const tool = testTool(
    'look',
    async ({ path }: { path: string }, { fs }) => {
      reached.push('execute')
      return (await fs.read(path)).content
    },
    {
      parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
      requires: { fs: { read: ['{workspace}/**'] } },
      targets: ({ path }: { path: string }) => {
        reached.push('capability')
        return [{ kind: 'file', path, access: 'read' }]
      },
    },
  )
  const scene = await openScene({
    ...manifest(rules.map((text) => rule(text))),
    tools: [tool],
    watchdog: () => {
      reached.push('watchdog')
      return { action: verdict, reason: 'because' }
    },
    host: {
      prompt: () => {
        reached.push('prompt')
        return answer
      },
    },
  })
  scene.put('a.txt', 'text')
  return { ...scene, reached, look: (path: unknown) => scene.call('look', { path }) }
}

describe('the pipeline', () => {
  test('R4 schema, capability, rules, watchdog, prompt, execute: in this order, each ends it', async () => {
    const invalid = await stages({})
    expect(failureOf(await invalid.look(7)).code).toBe('invalid_arguments')
    expect(invalid.reached).toEqual([])

    const outside = await stages({})
    expect(failureOf(await outside.look('/etc/hostname')).code).toBe('capability_refused')
    expect(outside.reached).toEqual(['capability'])

    const denied = await stages({ rules: ['look ** deny'] })
    expect(failureOf(await denied.look('a.txt')).code).toBe('permission_denied')
    expect(denied.reached).toEqual(['capability'])

    const watched = await stages({ verdict: 'deny' })
    expect(failureOf(await watched.look('a.txt')).code).toBe('watchdog_denied')
    expect(watched.reached).toEqual(['capability', 'watchdog'])

    const rejected = await stages({ rules: ['look ** ask'], answer: 'reject_once' })
    expect(failureOf(await rejected.look('a.txt')).code).toBe('permission_rejected')
    expect(rejected.reached).toEqual(['capability', 'watchdog', 'prompt'])

    const allowed = await stages({ rules: ['look ** ask'] })
    expect(dataOf(await allowed.look('a.txt'))).toBe('text')
    expect(allowed.reached).toEqual(['capability', 'watchdog', 'prompt', 'execute'])
  })

  test('R5 whatever a tool throws is an envelope with its words, and its code where it has one', async () => {
    const thrown: [unknown, string, RegExp][] = [
      [new Error('disk on fire'), 'tool_failed', /disk on fire/u],
      [new ContractFailure('unavailable', 'no such service'), 'unavailable', /no such service/u],
      [new ContractFailure('not a code' as never, 'odd'), 'tool_failed', /odd/u],
      ['just a text', 'tool_failed', /just a text/u],
      [undefined, 'tool_failed', /./u],
      [null, 'tool_failed', /./u],
      [
        {
          toString: () => {
            throw new Error('no')
          },
        },
        'tool_failed',
        /./u,
      ],
      [new Error(''), 'tool_failed', /./u],
    ]
    for (const [value, code, text] of thrown) {
      const { call } = await openScene({
        tools: [
          testTool('throws', () => {
            throw value
          }),
        ],
      })
      const failed = failureOf(await call('throws', {}))
      expect(failed.code).toBe(code)
      expect(failed.text).toMatch(text)
    }
  })

  test('R5 every code says whether it is the input, a refusal, something missing, or the backend', () => {
    const classes = new Set(Object.values(contractCodes))
    expect([...classes].sort()).toEqual(['backend', 'input', 'ok', 'refused', 'stopped', 'unavailable'])
    expect(contractCodes).toMatchObject({ not_found: 'input', unavailable: 'unavailable', io_failed: 'backend' })
  })

  test('R17 R67d every outcome is an envelope: one of data and error_text, a whole duration, JSON', async () => {
    const outcomes = fc.oneof(
      fc.record({ gives: fc.jsonValue() }),
      fc.record({ throws: fc.string() }),
      fc.constantFrom({ gives: undefined }, { gives: new Date(0) }, { gives: 1n }, { gives: () => 1 }, { gives: NaN }),
    )
    await fc.assert(
      fc.asyncProperty(outcomes, async (outcome) => {
        const tool = testTool('any', () => {
          if ('throws' in outcome) throw new Error(outcome.throws)
          return outcome.gives
        })
        const { call, session } = await openScene({ tools: [tool] })
        const envelope = await call('any', {})
        expect(envelopeProblem(envelope)).toBeUndefined()
        expect(envelopeProblem(JSON.parse(JSON.stringify(envelope)))).toBeUndefined()
        const fails = 'throws' in outcome || typeof outcome.gives === 'bigint'
        expect(envelope.type).toBe(fails ? 'error' : 'output')
        await session.close()
      }),
      { numRuns: runs(60), seed },
    )
  })

  test('R17 what the caller gets is what JSON keeps: a date is its text', async () => {
    const { call } = await openScene({ tools: [testTool('when', () => ({ at: new Date(0), gone: undefined }))] })
    expect(dataOf(await call('when', {}))).toEqual({ at: '1970-01-01T00:00:00.000Z' })
  })

  test('R17 duration_ms is the time that the call took', async () => {
    const { call } = await openScene({ tools: [testTool('waits', () => new Promise((resolve) => setTimeout(() => resolve(1), 60)))] })
    const { duration_ms } = (await call('waits', {})).metadata
    expect(duration_ms).toBeGreaterThanOrEqual(55)
    expect(duration_ms).toBeLessThan(1_000)
  })
})

describe('abort', () => {
  test('R6 a call that is aborted before does nothing', async () => {
    let ran = false
    const { call } = await openScene({
      tools: [
        testTool('runs', () => {
          ran = true
        }),
      ],
    })
    expect(failureOf(await call('runs', {}, { signal: AbortSignal.abort(new Error('enough')) }))).toEqual({
      code: 'aborted',
      text: 'The call was aborted: enough',
    })
    expect(ran).toBe(false)
  })

  test('R6 the signal reaches the tool, and a tool that does not listen is not waited for', async () => {
    let heard: unknown
    const listens = testTool(
      'listens',
      (_args, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject((heard = signal.reason)))),
    )
    const deaf = testTool('deaf', () => new Promise(() => undefined))
    const { call } = await openScene({ tools: [listens, deaf] })
    for (const id of ['listens', 'deaf']) {
      const controller = new AbortController()
      setTimeout(() => controller.abort(new Error('enough')), 30)
      const start = performance.now()
      expect(failureOf(await call(id, {}, { signal: controller.signal })).code).toBe('aborted')
      expect(performance.now() - start).toBeLessThan(1_000)
    }
    expect(heard).toMatchObject({ message: 'enough' })
  })

  test('R6 what a tool still gives after an abort is its partial result', async () => {
    const tool = testTool(
      'partial',
      (_args, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve({ done: 3 }))),
    )
    const { call } = await openScene({ tools: [tool] })
    expect(dataOf(await call('partial', {}, { signal: AbortSignal.timeout(20) }))).toEqual({ done: 3 })
  })

  test('R6 an abort while the watchdog, the prompt or the user is waited for ends the call', async () => {
    const never = () => new Promise<never>(() => undefined)
    const waits: [string, object][] = [
      ['todo', { watchdog: never }],
      ['todo', { watchdog: () => ({ action: 'ask' }), host: { prompt: never } }],
      ['question', { host: { prompt: never, question: never } }],
    ]
    for (const [id, options] of waits) {
      const { call } = await openScene(options)
      const args = id === 'todo' ? { todos: [] } : { questions: [{ question: 'really?' }] }
      expect(failureOf(await call(id, args, { signal: AbortSignal.timeout(30) })).code).toBe('aborted')
    }
  })

  test('R6 R67e bash, and what it started, is gone within a second', async () => {
    const { call } = await openScene()
    const mark = sleepingMark(300)
    const start = performance.now()
    const ended = await call('bash', { command: `sleep ${mark} & sleep ${mark}` }, { signal: AbortSignal.timeout(400) })
    expect(failureOf(ended).code).toBe('aborted')
    expect(performance.now() - start).toBeLessThan(1_400)
    await expectGone(mark)
  })

  test('R67e a search is given up within a second', async () => {
    const { call, put } = await openScene()
    for (let n = 0; n < 300; n += 1) put(`d/${n}.txt`, 'a'.repeat(20_000))
    const controller = new AbortController()
    const made = call('grep', { pattern: 'none of it' }, { signal: controller.signal })
    setTimeout(() => controller.abort(), 5)
    const start = performance.now()
    const { metadata } = await made
    expect(['ok', 'aborted']).toContain(metadata.code)
    expect(performance.now() - start).toBeLessThan(1_000)
  })

  test('closing a session stops its commands', async () => {
    const { call, session } = await openScene()
    const mark = sleepingMark(300)
    const running = call('bash', { command: `sleep ${mark}` })
    await new Promise((resolve) => setTimeout(resolve, 300))
    await session.close()
    expect(failureOf(await running).code).toBe('aborted')
    await expectGone(mark)
  })

  test('closing a session stops its calls, and no more are made', async () => {
    const { session, call } = await openScene({ tools: [testTool('hangs', () => new Promise(() => undefined))] })
    const running = call('hangs', {})
    await new Promise((resolve) => setTimeout(resolve, 20))
    await session.close()
    expect(failureOf(await running)).toMatchObject({ code: 'aborted', text: expect.stringMatching(/session has been closed/u) })
    expect(failureOf(await call('todo', { todos: [] })).code).toBe('session_closed')
    await session.close()
  })

  test('a hundred calls at once each get their own envelope', async () => {
    const tool = testTool('echo', async ({ n }: { n: number }) => {
      await new Promise((resolve) => setTimeout(resolve, n % 7))
      return n
    })
    const seen: WatchedCall[] = []
    const { call } = await openScene({
      tools: [tool],
      watchdog: (watched) => {
        seen.push(watched)
        return { action: 'allow' }
      },
    })
    const made: Promise<Envelope>[] = Array.from({ length: 100 }, (_, n) => call('echo', { n }, { callId: `c${n}` }))
    expect((await Promise.all(made)).map((envelope) => dataOf(envelope))).toEqual(Array.from({ length: 100 }, (_, n) => n))
    expect(new Set(seen.map(({ call_id }) => call_id)).size).toBe(100)
  })
})
