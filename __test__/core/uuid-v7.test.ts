import { describe, expect, test } from 'vitest'
import { uuidV7 } from '../../ts/core/clock.ts'

describe('the ids of runs', () => {
  test('are UUIDs of version 7 that hold the time', () => {
    const now = Date.now() + 1000
    const id = uuidV7(now)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(now)
  })

  test('sort by when they began, however many begin at once, and when the clock is set back', () => {
    const now = Date.now() + 2000
    const ids = Array.from({ length: 10_000 }, (_, index) => uuidV7(index < 9000 ? now : now - 60_000))
    expect(ids).toEqual([...ids].sort())
    expect(new Set(ids).size).toBe(ids.length)
  })
})
