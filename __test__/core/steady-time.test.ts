import { afterEach, expect, test, vi } from 'vitest'
import { steadyNow } from '../../ts/core/clock.ts'

afterEach(() => vi.restoreAllMocks())

test('a call takes as long as it takes while the clock is set back', () => {
  let [clock, steady] = [1_790_000_000_000, 1_000]
  vi.spyOn(Date, 'now').mockImplementation(() => clock)
  vi.spyOn(performance, 'now').mockImplementation(() => steady)
  const began = steadyNow()
  expect(began).toBe(clock)
  clock -= 3_600_000
  steady += 250
  expect(steadyNow() - began).toBe(250)
  steady += 0.5
  expect(steadyNow() - began).toBe(250)
  // The clock is right again, and then runs by itself.
  clock = began + 100
  steady += 100
  expect(steadyNow() - began).toBe(350)
  clock = began + 5_000
  expect(steadyNow()).toBe(clock)
})
