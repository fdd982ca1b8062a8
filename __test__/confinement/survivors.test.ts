import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/processes.ts'
import { runs, seed } from '../support/randomised.ts'
import { Host } from './stage/host.ts'
import { marked, survivors, sweep } from './stage/marked.ts'
import { token } from './stage/token.ts'
import { obstacle, users } from './stage/users.ts'

/** Ways to outlive a command, as `attack linger` knows them. */
const ways = [
  'background',
  'no-hangup',
  'session',
  'double-fork',
  'daemon',
  'deaf',
  'stopped',
  'hopping',
  'storm',
  'keeper',
  'no-death-signal',
  'headless',
  'traced',
  'vfork',
  'namespace',
  'crowd',
] as const
/** And one whose first process stops itself, which is never seen to end. */
const stays = [...ways, 'self-stop'] as const
const endings = ['normal end', 'timeout', 'abort', 'death of the host'] as const

/** The same choices for the same seed. */
function* choices(from: number): Generator<number, never> {
  for (let state = from >>> 0; ;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    yield state / 2 ** 32
  }
}

for (const user of users) {
  const reason = await obstacle(user)

  // Most of the time they wait.
  describe.skipIf(reason !== undefined).concurrent(`as ${user.name}`, () => {
    let host: Host
    beforeAll(async () => {
      host = await Host.start(user)
    })
    afterAll(() => host.stop())

    test.concurrent.each(ways)('without confinement, %s outlives its command', { timeout: 60_000 }, async (how) => {
      const mark = token()
      try {
        // On a busy machine it may take longer to be on its way, and to be seen.
        let left = false
        for (const [killAfterMs, seconds] of [
          [60, 3],
          [300, 5],
          [1_000, 10],
          [3_000, 20],
        ] as const) {
          const argv = linger(host, how, mark, seconds, 'stay')
          const { output } = await host.order({ how: 'plain', argv, cwd: host.rootDir, killAfterMs })
          // One that did not come to say so has most likely left nothing: no need to look for long.
          left = await eventually(() => marked(mark).length > 0, output.includes('left behind') ? 5_000 : 200)
          if (left) break
        }
        expect(left).toBe(true)
      } finally {
        await sweep(mark)
      }
    })

    const count = runs(10)
    test.concurrent(
      `nothing outlives ${count} commands (TOOLWRIGHT_SEED=${seed})`,
      { timeout: 20_000 + count * 2_000 },
      async ({ expect }) => {
        const next = choices(seed + user.uid)
        const one = <T>(list: readonly T[]): T => list[Math.floor(next.next().value * list.length)] as T
        const kills = Array.from({ length: count }, (_, n) => ({
          ending: endings[n % endings.length] as (typeof endings)[number],
          how: one(stays),
          afterMs: 30 + Math.floor(next.next().value * 150),
        }))
        const queue = kills.values()
        const work = async (): Promise<void> => {
          for (const kill of queue) expect(await outlives(host, kill), JSON.stringify(kill)).toEqual([])
        }
        await Promise.all([work(), work()])
      },
    )
  })
}

const linger = (host: Host, how: string, mark: string, seconds: number, then: 'end' | 'stay'): string[] => [
  `${host.rootDir}/attack`,
  'linger',
  how,
  mark,
  String(seconds),
  then,
]

interface Kill {
  ending: (typeof endings)[number]
  how: (typeof stays)[number]
  afterMs: number
}

/** What is left of a command a second after its end. */
async function outlives(shared: Host, { ending, how, afterMs }: Kill): Promise<number[] | string> {
  const mark = token()
  const dies = ending === 'death of the host'
  const host = dies ? await Host.start(shared.user) : shared
  const byItself = ending === 'normal end' && how !== 'self-stop'
  try {
    const ended = host.order({
      how: 'confined',
      options: { rootDir: host.rootDir },
      argv: linger(host, how, mark, 30, byItself ? 'end' : 'stay'),
      cwd: '.',
      by: ending === 'abort' ? 'abort' : 'timeout',
      killAfterMs: dies || byItself ? 20_000 : afterMs,
    })
    if (dies) {
      await pause(afterMs)
      host.child.kill('SIGKILL')
    }
    const { output, message } = await ended
    if (byItself && !output.includes('left behind')) return `nothing was tried: ${output} ${message}`
    return await survivors(mark)
  } finally {
    await sweep(mark)
    if (dies) await host.stop()
  }
}
