// The addon's event of an end keeps nobody alive, and can come after the end itself: whoever has waited for that hears of it first.
import { expect, test } from 'vitest'
import { KeptProcess, nativeOptions } from '../../ts/core/kept-process.ts'

const END = { exitCode: 0 }

/** A process of the addon that ends when it is killed. Its event comes when `tell` is called. */
function process() {
  const told: unknown[] = []
  let tell: (end: unknown) => void = () => undefined
  const native = {
    onEnd: (callback: typeof tell) => (tell = callback),
    kill: () => undefined,
    wait: async (waitMs: number) => (waitMs === 0 ? null : END),
    recheck: () => undefined,
  }
  const handle = () => ({ cancel: () => undefined })
  const observer = { onEnd: (end: unknown) => void told.push(end) }
  return { kept: new KeptProcess(native as never, handle as never, nativeOptions({}), observer), told, tell: () => tell(END) }
}

test.each(['kill', 'wait'] as const)('an observer has heard of the end when `%s` returns, and hears of it once', async (way) => {
  const { kept, told, tell } = process()
  expect(await kept.wait(0)).toBeUndefined()
  expect(told).toEqual([])
  expect(await kept[way]()).toBe(END)
  expect(told).toEqual([END])
  tell()
  await kept.kill()
  expect(told).toEqual([END])
})
