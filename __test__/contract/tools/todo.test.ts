import { describe, expect, test } from 'vitest'
import { dataOf, failureOf, noRules, openScene } from '../scene.ts'

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
