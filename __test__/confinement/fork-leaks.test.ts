/** A hundred ways from a copy to the original, in forks and in work trees of git. Without overlays there is nothing to try: see docs/guides/forks.md. */
import { afterAll, describe, expect, test } from 'vitest'
import { type Leak, leaks } from './leaks/cases.ts'
import { forkedCopy, leaked, workTree } from './leaks/copies.ts'
import { makeProject } from './leaks/project.ts'

const here = process.platform === 'linux' ? describe : describe.skip

const rooms = [...new Set(leaks.map(({ room }) => room))]
const of = (room: string): Leak[] => leaks.filter((leak) => leak.room === room)

/** Cases that came to the original or to another copy, by room. */
const counts = { forks: new Map<string, number>(), trees: new Map<string, number>() }
const count = (side: keyof typeof counts, { room }: Leak): void => void counts[side].set(room, (counts[side].get(room) ?? 0) + 1)
const ineffective: string[] = []

here('nothing comes from a fork to the directory, or to another fork', () => {
  describe.each(rooms)('%s', (room) => {
    test.each(of(room))('$name', { timeout: 120_000 }, async (leak) => {
      const project = makeProject()
      try {
        const { where, hasChanged } = await leaked(leak, project, () => forkedCopy(project))
        if (where.length > 0) count('forks', leak)
        if (!hasChanged) ineffective.push(`${leak.room}: ${leak.name}`)
        expect(where).toEqual([])
      } finally {
        project.remove()
      }
    })
  })

  test('the same in work trees of git, for comparison', { timeout: 600_000 }, async () => {
    for (const leak of leaks) {
      const project = makeProject()
      try {
        const { where } = await leaked(leak, project, (name) => workTree(project, name))
        if (where.length > 0) count('trees', leak)
      } finally {
        project.remove()
      }
    }
    // Otherwise the cases would say nothing of forks.
    expect([...counts.trees.values()].reduce((sum, one) => sum + one, 0)).toBeGreaterThan(leaks.length / 2)
  })

  test('there are a hundred cases, and each has its name', () => {
    expect(leaks.length).toBeGreaterThanOrEqual(100)
    expect(new Set(leaks.map(({ room, name }) => `${room}: ${name}`)).size).toBe(leaks.length)
    // Most of them change the fork, so that they do something.
    expect(ineffective.length, ineffective.join('\n')).toBeLessThan(leaks.length / 5)
  })

  afterAll(() => {
    const line = (name: string, ...numbers: (string | number)[]): string =>
      `${name.padEnd(28)}${numbers.map((one) => String(one).padStart(16)).join('')}`
    const sum = (side: keyof typeof counts): number => [...counts[side].values()].reduce((all, one) => all + one, 0)
    const row = (room: string): string => line(room, of(room).length, counts.forks.get(room) ?? 0, counts.trees.get(room) ?? 0)
    const head = line('leaks to the original', 'cases', 'forks', 'git worktree')
    console.log([head, ...rooms.map(row), line('in all', leaks.length, sum('forks'), sum('trees'))].join('\n'))
    if (ineffective.length > 0) console.log(`without effect in the fork: ${ineffective.join('; ')}`)
  })
})
