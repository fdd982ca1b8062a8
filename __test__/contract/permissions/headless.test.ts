import { QUESTION_HEADLESS_MESSAGE } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { failureOf, manifest, noRules, openScene, rule } from '../scene.ts'

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
