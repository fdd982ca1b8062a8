import { describe, expect, test } from 'vitest'
import { dataOf, openScene } from '../../scene.ts'

describe('grep', () => {
  test('the first and the last matches are kept, and all can be read', async () => {
    const { call, put } = await openScene({ limits: { grepMatches: 10 } })
    put('a.txt', Array.from({ length: 30 }, (_, n) => `hit ${n}\n`).join(''))
    put('b.txt', 'hit end\n')
    const cut = await call('grep', { pattern: 'hit' })
    const { head, tail, files_scanned } = dataOf(cut)
    expect(head.split('\n')).toEqual([0, 1, 2, 3, 4].map((n) => `a.txt:${n + 1}:hit ${n}`))
    expect(tail.split('\n')).toEqual([...[26, 27, 28, 29].map((n) => `a.txt:${n + 1}:hit ${n}`), 'b.txt:1:hit end'])
    expect(files_scanned).toBe(2)
    const { output_path = '', notes = [] } = cut.metadata
    expect(notes.map((note) => note.replaceAll(output_path, '<path>'))).toMatchSnapshot()
    expect(
      dataOf(await call('read', { path: output_path }))
        .content.trimEnd()
        .split('\n'),
    ).toHaveLength(31)
    expect(dataOf(await call('bash', { command: `tail -n 1 '${output_path}'` })).stdout).toBe('b.txt:1:hit end\n')
  })

  test('of one match more than fits none is shown twice', async () => {
    for (const grepMatches of [1, 2, 3, 4, 5]) {
      const { call, put } = await openScene({ limits: { grepMatches } })
      put('a.txt', Array.from({ length: grepMatches + 1 }, (_, n) => `hit ${n}\n`).join(''))
      const { head, tail = '' } = dataOf(await call('grep', { pattern: 'hit' }))
      const shown = `${head}\n${tail}`.split('\n').filter((line) => line !== '')
      expect(new Set(shown).size).toBe(shown.length)
      expect(shown).toHaveLength(grepMatches)
    }
  })

  test('long lines are clipped at both ends', async () => {
    const { call, put } = await openScene({ limits: { grepMatches: 2 } })
    put('a.txt', `${`hit ${'é'.repeat(5_000)}\n`.repeat(5)}`)
    const { head, tail } = dataOf(await call('grep', { pattern: 'hit' }))
    for (const end of [head, tail]) expect(end).toMatch(/^a\.txt:\d:hit é+…$/u)
  })
})

test('the descriptions say that read takes the path', async () => {
  const { session } = await openScene()
  const about = (id: string): string => session.registered.find((tool) => tool.id === id)?.description ?? ''
  for (const id of ['bash', 'grep']) expect(about(id)).toMatch(/metadata\.output_path is a file with all of (?:it|them), which read takes/u)
})
