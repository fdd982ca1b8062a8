import { describe, expect, test } from 'vitest'
import { settledWithin, Slots, TimeBudget, unlessAborted, withinTime } from '../../ts/core/abort.js'

const never = new Promise<never>(() => undefined)
const late = (): Error => new Error('late')
const after = <T>(ms: number, value: T): Promise<T> => new Promise((resolve) => void setTimeout(resolve, ms, value))

describe('unlessAborted', () => {
  test('gives the result of the work, and its error', async () => {
    const { signal } = new AbortController()
    expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1)
    await expect(unlessAborted(Promise.reject(new Error('broken')), signal)).rejects.toThrow('broken')
  })

  test('an abort ends the wait with its reason', async () => {
    const stop = new AbortController()
    const waiting = unlessAborted(never, stop.signal)
    stop.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await expect(unlessAborted(never, stop.signal)).rejects.toThrow('enough')
    // Work that is done at the moment of the abort does not count.
    await expect(unlessAborted(Promise.resolve(1), stop.signal)).rejects.toThrow('enough')
  })

  test('within the grace the work still counts; what it throws then does not', async () => {
    const stop = new AbortController()
    const [result, failure, hanging] = [
      unlessAborted(after(20, 'result'), stop.signal, 5_000),
      unlessAborted(
        after(20, 0).then(() => {
          throw new Error('broken')
        }),
        stop.signal,
        5_000,
      ),
      unlessAborted(never, stop.signal, 50),
    ]
    stop.abort(new Error('enough'))
    expect(await result).toBe('result')
    await expect(failure).rejects.toThrow('enough')
    await expect(hanging).rejects.toThrow('enough')
  })
})

describe('time limits', () => {
  test('withinTime gives up late work, and hands it the signal of both ends', async () => {
    const stop = new AbortController()
    expect(await withinTime(() => 1, 1_000, stop.signal, late)).toBe(1)
    let seen: AbortSignal | undefined
    const waiting = withinTime((signal) => ((seen = signal()), never), 20, stop.signal, late)
    await expect(waiting).rejects.toThrow('late')
    expect(seen?.aborted).toBe(true)
    await expect(withinTime(() => never, 20, undefined, late)).rejects.toThrow('late')
    stop.abort(new Error('enough'))
    await expect(withinTime(() => 1, 1_000, stop.signal, late)).rejects.toThrow('enough')
  })

  test('settledWithin says whether the work is done, and throws its error', async () => {
    expect(await settledWithin(Promise.resolve(), 1_000)).toBe(true)
    expect(await settledWithin(never, 10)).toBe(false)
    await expect(settledWithin(Promise.reject(new Error('broken')), 1_000)).rejects.toThrow('broken')
  })

  test('steps share a TimeBudget, and the time between them takes none of it', async () => {
    const { signal } = new AbortController()
    const budget = new TimeBudget(400, late)
    expect(await budget.spend(signal, () => after(20, 1))).toBe(1)
    await after(500, 0)
    expect(await budget.spend(signal, () => after(20, 2))).toBe(2)
    await expect(budget.spend(signal, () => never)).rejects.toThrow('late')
    await expect(budget.spend(signal, () => never)).rejects.toThrow('late')
  })
})

describe('Slots', () => {
  test('no more work runs at once than there are slots, in the order in which it came', async () => {
    const slots = new Slots(2)
    const order: number[] = []
    let running = 0
    let max = 0
    const work = (index: number) => async (): Promise<void> => {
      order.push(index)
      max = Math.max(max, (running += 1))
      await after(5, 0)
      running -= 1
    }
    await Promise.all(Array.from({ length: 20 }, (_, index) => slots.run(work(index), undefined)))
    expect(max).toBe(2)
    expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index))
  })

  test('an abort ends the wait for a slot, which goes to the next caller; so does an error', async () => {
    const slots = new Slots(1)
    const stop = new AbortController()
    const first = slots.run(() => after(30, 'first'), undefined)
    const second = slots.run(async () => 'second', stop.signal)
    const third = slots.run(async () => {
      throw new Error('broken')
    }, undefined)
    const fourth = slots.run(async () => 'fourth', undefined)
    stop.abort(new Error('enough'))
    await expect(second).rejects.toThrow('enough')
    expect(await first).toBe('first')
    await expect(third).rejects.toThrow('broken')
    expect(await fourth).toBe('fourth')
    // An abort in the moment in which the slot is handed over gives it back.
    const turn = new AbortController()
    const holder = slots.run(() => after(5, 0), undefined)
    const waiter = slots.run(async () => 'waited', turn.signal)
    void holder.then(() => turn.abort(new Error('too late')))
    await waiter.catch(() => undefined)
    expect(await slots.run(async () => 'free', undefined)).toBe('free')
  })
})
