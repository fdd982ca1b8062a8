import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runs, seed } from '../support/randomised.ts'
import { Host } from './stage/host.ts'
import { marked, survivors, sweep } from './stage/marked.ts'
import { isConfining } from './stage/sandbox-options.ts'
import { token } from './stage/token.ts'
import { obstacle, users } from './stage/users.ts'

/** Ways to outlive a command, as `attack linger` knows them. */
const ways = [
  'background', 'no-hangup', 'session', 'double-fork', 'daemon', 'deaf', 'stopped', 'hopping', 'storm',
  'keeper', 'no-death-signal', 'headless', 'traced', 'vfork', 'namespace', 'crowd',
] as const
/** The first process stops itself: it is never seen to end. */
const stays = [...ways, 'self-stop'] as const
const endings = ['normal end', 'timeout', 'abort', 'death of the host'] as const

/** The same choices for the same seed. */
function* choices(from: number): Generator<number, never> {
  for (let state = from >>> 0; ; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    yield state / 2 ** 32
  }
}

for (const user of users) {
  const reason = await obstacle(user)

  describe.skipIf(reason !== undefined)(`as ${user.name}`, () => {
    let host: Host
    beforeAll(async () => {
      host = await Host.start(user)
    })
    afterAll(() => host.stop())
    const linger = (how: string, mark: string, seconds: number, then: 'end' | 'stay'): string[] =>
      [`${host.rootDir}/attack`, 'linger', how, mark, String(seconds), then]

    test.concurrent.each(stays)('without confinement, %s outlives its command', async (how) => {
      const mark = token()
      try {
        await host.order({ how: 'plain', argv: linger(how, mark, 2, 'stay'), cwd: host.rootDir, ...(how !== 'self-stop' && { killAfterMs: 150 }) && { killAfterMs: 150 } })
        // A process that was stopped is ended by a signal to it, and by nothing else.
        if (how !== 'self-stop') expect(marked(mark)).not.toEqual([])
      } finally {
        await sweep(mark)
      }
    })

    const count = runs(10)
    test.runIf(isConfining)(`nothing outlives ${count} commands (TOOLWRIGHT_SEED=${seed})`, { timeout: 20_000 + count * 2_000 }, async () => {
      const next = choices(seed + user.uid)
      const one = <T>(list: readonly T[]): T => list[Math.floor(next.next().value * list.length)] as T
      const kills = Array.from({ length: count }, (_, n) => ({
        ending: endings[n % endings.length] as (typeof endings)[number],
        how: one(stays),
        afterMs: 30 + Math.floor(next.next().value * 150),
      }))
      for (const kill of kills) {
        expect(await outlives(user, host, kill), JSON.stringify(kill)).toEqual([])
      }
    })
  })

  async function outlives(by: typeof user, shared: Host, kill: { ending: (typeof endings)[number]; how: (typeof stays)[number]; afterMs: number }) {
    const { ending, how, afterMs } = kill
    const mark = token()
    const host = ending === 'death of the host' ? await Host.start(by) : shared
    try {
      const then = ending === 'normal end' && how !== 'self-stop' ? 'end' : 'stay'
      const by = ending === 'abort' ? 'abort' : 'timeout'
      const ended = host.order({
        how: 'confined',
        options: { rootDir: host.rootDir },
        argv: [`${host.rootDir}/attack`, 'linger', how, mark, '30', then],
        cwd: '.',
        ...(ending === 'death of the host' ? {} : { by, killAfterMs: ending === 'normal end' && how !== 'self-stop' ? 20_000 : afterMs }),
      })
      if (ending === 'death of the host') {
        await pause(afterMs)
        host.child.kill('SIGKILL')
      }
      const { output } = await ended
      const left = await survivors(mark)
      if (ending === 'normal end' && how !== 'self-stop' && !output.includes('left behind')) return [`nothing was tried: ${output}`]
      return left
    } finally {
      await sweep(mark)
      if (host !== shared) await host.stop()
    }
  }
}
