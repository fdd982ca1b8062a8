import { describe, expect, test } from 'vitest'
import { dataOf, failureOf, openScene } from '../scene.ts'

const asked = {
  questions: [
    { question: 'Which one?', options: [{ label: 'a' }, { label: 'b' }] },
    { question: 'Why?', multi_select: true },
  ],
}

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
