import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LiveOutput } from '../../../ts/toolkit/tools/stream-command.ts'
import { runs, seed } from '../../support/randomised.ts'

describe('what is shown of an output that grows', () => {
  test('all of a short one, and of a long one the end, from the beginning of a line', () => {
    const live = new LiveOutput()
    live.add('one\n')
    expect(live.take(0)).toBe('one\n')
    live.add('line of text\n'.repeat(1_000))
    const shown = live.take(1_000)
    // What is left out is counted.
    expect(Number(/\d+/u.exec(shown)?.[0]) + shown.slice(shown.indexOf('\n') + 1).length).toBe(4 + 13_000)
    expect(shown).toMatch(/^\[\d+ characters before this\]\nline of text\n/u)
    expect(shown.length).toBeLessThan(4_100)
  })

  test('no half of a character', () => {
    for (const before of ['', 'a']) {
      const live = new LiveOutput()
      live.add(before + '🎈'.repeat(4_000))
      expect(live.take(0)).not.toMatch(/\p{Surrogate}/u)
    }
  })

  test('costs half of what was printed, or a window a second', () => {
    const parts = fc.array(fc.record({ length: fc.integer({ min: 0, max: 5_000 }), afterMs: fc.integer({ min: 0, max: 400 }) }), {
      maxLength: 60,
    })
    fc.assert(
      fc.property(parts, (given) => {
        const live = new LiveOutput()
        let [now, cost, count, printed] = [0, 0, 0, 0]
        for (const { length, afterMs } of given) {
          now += afterMs
          live.add('x'.repeat(length))
          printed += length
          if (live.dueIn(now) !== 0) continue
          cost += live.take(now).length
          count += 1
        }
        const window = 4_100
        expect(count).toBeLessThanOrEqual(1 + now / 100)
        expect(cost).toBeLessThanOrEqual(printed / 2 + (1 + now / 1_000) * window + 100 * count)
      }),
      { seed, numRuns: runs(200) },
    )
  })

  test('nothing is due without anything new, and something a second later at most', () => {
    const live = new LiveOutput()
    expect(live.dueIn(0)).toBeUndefined()
    live.add('a')
    expect(live.dueIn(0)).toBe(0)
    live.take(0)
    expect(live.dueIn(0)).toBeUndefined()
    live.add('b')
    expect(live.dueIn(10)).toBe(990)
  })
})
