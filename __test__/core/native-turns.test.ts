import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { callLimited } from '../../ts/core/native.ts'

/** Work that ends when it is told to, and says whether it has begun. */
function work() {
  let begun = false
  let end: () => void = () => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const start = async () => {
    begun = true
    await ended
    return { cancelled: false, text: 'done' }
  }
  return { start, end: () => end(), begun: () => begun }
}

describe('many searches and changes at once', () => {
  test('eight run, the others wait for their turn in order, and an aborted one never begins', async () => {
    const jobs = Array.from({ length: 12 }, work)
    const controller = new AbortController()
    const calls = jobs.map(({ start }, index) =>
      callLimited({ what: 'test', ...(index === 9 ? { signal: controller.signal } : {}) }, start),
    )
    calls[9]?.catch(() => undefined)
    await pause(100) // the addon is loaded by the first call
    const begun = () => jobs.map((job) => job.begun())
    expect(begun()).toEqual([...Array(8).fill(true), ...Array(4).fill(false)])

    controller.abort(new Error('no longer'))
    await expect(calls[9]).rejects.toThrow('no longer')
    jobs[0]?.end()
    await calls[0]
    await pause(10)
    expect(begun()).toEqual([...Array(9).fill(true), false, false, false])

    for (const job of jobs) job.end()
    await Promise.all(calls.filter((_, index) => index !== 9))
    expect(jobs[9]?.begun()).toBe(false)
  })

  test('the time of a call begins with its turn', async () => {
    const holders = Array.from({ length: 8 }, work)
    const held = holders.map(({ start }) => callLimited({ what: 'test' }, start))
    const late = work()
    const call = callLimited({ what: 'late', timeoutMs: 50 }, late.start)
    await pause(150)
    expect(late.begun()).toBe(false)
    for (const holder of holders) holder.end()
    await Promise.all(held)
    late.end()
    expect(await call).toMatchObject({ text: 'done' })
  })
})
