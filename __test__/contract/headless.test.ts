import { QUESTION_HEADLESS_MESSAGE } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { dataOf, failureOf, manifest, noRules, openScene, rule } from './scene.ts'

const asked = {
  questions: [
    { question: 'Which one?', options: [{ label: 'a' }, { label: 'b' }] },
    { question: 'Why?', multi_select: true },
  ],
}

describe('headless', () => {
  test.each<[string, object]>([
    ['by a rule', manifest([rule('read ** ask')])],
    ['by default', noRules],
    ['by a watchdog', { ...manifest([rule('read ** allow')]), watchdog: () => ({ action: 'ask' }) }],
  ])('R47 an ask %s is a deny, and nothing waits', async (_how, options) => {
    const { call, put, session } = await openScene(options)
    put('a.txt', 'a')
    expect(session.headless).toBe(true)
    expect(failureOf(await call('read', { path: 'a.txt' })).code).toBe('permission_unattended')
  })

  test('R47 headless: true counts although there is a prompt; without a prompt it is headless too', async () => {
    let shown = 0
    const { call, session } = await openScene({
      ...noRules,
      headless: true,
      host: {
        prompt: () => {
          shown += 1
          return 'allow_once'
        },
      },
    })
    expect(session.headless).toBe(true)
    expect((await call('read', { path: 'a.txt' })).type).toBe('error')
    expect(shown).toBe(0)
  })

  test('R48 question answers with one fixed message, the same every time, after the schema', async () => {
    const { call, session } = await openScene({ headless: true, host: { question: () => [['never']] } })
    expect(Object.keys(session.tools)).toContain('question')
    for (let n = 0; n < 3; n += 1) {
      expect(failureOf(await call('question', asked))).toEqual({ code: 'question_unavailable', text: QUESTION_HEADLESS_MESSAGE })
    }
    expect(QUESTION_HEADLESS_MESSAGE).toBe(
      'question is unavailable: no interactive user is attached. Continue with your best assumption and state it.',
    )
    expect(failureOf(await call('question', { questions: [] })).code).toBe('invalid_arguments')
  })
})

describe('question', () => {
  const withAnswer = (question: () => unknown, more: object = {}) =>
    openScene({ host: { prompt: () => 'reject_once', question: question as () => string[][] }, ...more })

  test('R31 the run waits for the answers: one array for each question, free text too', async () => {
    const { call } = await withAnswer(async () => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      return [['b'], ['because', 'of this']]
    })
    expect(dataOf(await call('question', asked))).toEqual({ answers: [['b'], ['because', 'of this']] })
  })

  test.each<[string, unknown]>([
    ['too few', [['a']]],
    ['too many', [['a'], [], []]],
    ['two where one may be chosen', [['a', 'b'], []]],
    ['no array', 'a'],
    ['numbers', [[1], []]],
    ['nothing', undefined],
  ])('R31 answers that do not fit are no answers: %s', async (_what, answers) => {
    const { call } = await withAnswer(() => answers)
    expect(failureOf(await call('question', asked)).code).toBe('invalid_answer')
  })

  test('R31 no answer to a question is an answer', async () => {
    const { call } = await withAnswer(() => [[], []])
    expect(dataOf(await call('question', asked))).toEqual({ answers: [[], []] })
  })

  test('R31 a host that fails, or never answers, is told as it is', async () => {
    const failing = await withAnswer(() => Promise.reject(new Error('window closed')))
    expect(failureOf(await failing.call('question', asked))).toMatchObject({
      code: 'tool_failed',
      text: expect.stringContaining('window closed'),
    })
    const silent = await withAnswer(() => new Promise(() => undefined), { limits: { questionMs: 30 } })
    expect(failureOf(await silent.call('question', asked)).code).toBe('timeout')
  })
})

describe('todo', () => {
  test('R30 the list is replaced as a whole, is of the session, and can be emptied', async () => {
    const { call } = await openScene(noRules)
    const item = (content: string, status: string, more = {}) => ({ content, status, ...more })
    const todos = [item('a', 'in_progress', { active_form: 'doing a' }), item('b', 'in_progress'), item('c', 'pending')]
    expect(dataOf(await call('todo', { todos }))).toEqual({ count: 3 })
    expect(dataOf(await call('todo', { todos: [item('a', 'completed')] }))).toEqual({ count: 1 })
    expect(dataOf(await call('todo', { todos: [] }))).toEqual({ count: 0 })
    for (const bad of [[item('a', 'done')], [item('', 'pending')], [{ content: 'a' }], 'a']) {
      expect(failureOf(await call('todo', { todos: bad })).code).toBe('invalid_arguments')
    }
  })
})
