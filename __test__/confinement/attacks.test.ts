import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { attacks } from './attacks/all.ts'
import type { Kind } from './attacks/attack.ts'
import { attempt } from './attempt.ts'
import { Host } from './stage/host.ts'
import { isConfining } from './stage/sandbox-options.ts'
import { obstacle, users } from './stage/users.ts'

/** Attacks that succeeded without confinement, by name and user. */
const proven = new Set<string>()
const skipped: string[] = []
const all = Object.entries(attacks) as [Kind, (typeof attacks)[Kind]][]

for (const user of users) {
  const reason = await obstacle(user)
  if (reason !== undefined) console.log(`skipped: attacks as ${user.name}: ${reason}`)

  describe.skipIf(reason !== undefined).concurrent(`as ${user.name}`, () => {
    let host: Host
    beforeAll(async () => {
      host = await Host.start(user)
    })
    afterAll(() => host.stop())

    describe.each(all)('%s', (kind, list) => {
      const possible = list.filter(({ only }) => only === undefined || (only === 'root') === (user.uid === 0))
      for (const attack of possible) {
        test.concurrent(attack.name, { timeout: 60_000 }, async ({ expect, skip }) => {
          let plain = await attempt(host, attack, 'plain')
          // Others use up the same numbers, processes and times: once is enough to show that it can be done.
          for (let more = 2; !plain.happened && more > 0; more -= 1) plain = await attempt(host, attack, 'plain')
          if (!plain.happened && attack.needs !== undefined) {
            const why = plain.account.replaceAll(/\s+/gu, ' ')
            skipped.push(`${kind}: ${attack.name}, as ${user.name}: needs ${attack.needs} (${why})`)
            skip(`cannot succeed here: ${why}`)
          }
          expect(plain.happened, `without confinement it succeeds\n${plain.account}`).toBe(true)
          proven.add(`${kind}: ${attack.name}`)
          if (!isConfining) skip('this build does not confine commands yet')
          const confined = await attempt(host, attack, 'confined')
          expect(confined.tried, `it was tried\n${confined.account}`).toBe(true)
          expect(confined.happened, `confined it has no effect\n${confined.account}`).toBe(false)
        })
      }
    })
  })
}

afterAll(() => {
  for (const line of skipped.toSorted()) console.log(`skipped: ${line}`)
  console.log(`attacks: ${proven.size} proven to succeed without confinement`)
})

test('names are unique', () => {
  for (const [, list] of all) {
    const names = list.map(({ name }) => name)
    expect(names).toHaveLength(new Set(names).size)
  }
})

test.skipIf(process.platform !== 'linux')('at least 60 attacks are shown to succeed without confinement', () => {
  expect(proven.size).toBeGreaterThanOrEqual(60)
})
