import { afterAll, beforeAll, describe, test } from 'vitest'
import { attacks } from './attacks/all.ts'
import type { Kind } from './attacks/attack.ts'
import { attempt } from './attempt.ts'
import { Host } from './stage/host.ts'
import { obstacle, users } from './stage/users.ts'

// `attacks.test.ts` shows that these succeed without confinement. Here each is made by a command in a fork of the root.
const all = Object.entries(attacks) as [Kind, (typeof attacks)[Kind]][]

for (const user of users) {
  const reason = await obstacle(user)

  describe.skipIf(reason !== undefined).concurrent(`in a fork of ${user.name}`, () => {
    let host: Host
    beforeAll(async () => {
      host = await Host.start(user)
    })
    afterAll(() => host.stop())

    describe.each(all)('%s', (_kind, list) => {
      const possible = list.filter(({ only }) => only === undefined || (only === 'root') === (user.uid === 0))
      for (const attack of possible) {
        test.concurrent(attack.name, { timeout: 60_000 }, async ({ expect }) => {
          const { tried, happened, account } = await attempt(host, attack, 'forked')
          expect(tried, `it was tried\n${account}`).toBe(true)
          expect(happened, `it has no effect\n${account}`).toBe(false)
        })
      }
    })
  })
}
