import { afterAll, beforeAll, describe, test } from 'vitest'
import { attacks } from './attacks/all.ts'
import type { Kind } from './attacks/attack.ts'
import { attempt } from './attempt.ts'
import { Host } from './stage/host.ts'
import type { How } from './stage/scene.ts'
import { obstacle, users } from './stage/users.ts'

const all = Object.entries(attacks) as [Kind, (typeof attacks)[Kind]][]

/** Makes each attack as each user, and expects that it has no effect. `attacks.test.ts` shows that they succeed without confinement. */
export async function eachAttackHasNoEffect(how: How, where: string): Promise<void> {
  const known = await Promise.all(users.map(async (user) => ({ user, reason: await obstacle(user) })))
  for (const { user, reason } of known) {
    describe.skipIf(reason !== undefined).concurrent(`${where} ${user.name}`, () => {
      let host: Host
      beforeAll(async () => {
        host = await Host.start(user)
      })
      afterAll(() => host.stop())

      describe.each(all)('%s', (_kind, list) => {
        const possible = list.filter(({ only }) => only === undefined || (only === 'root') === (user.uid === 0))
        for (const attack of possible) {
          test.concurrent(attack.name, { timeout: 60_000 }, async ({ expect }) => {
            const { tried, happened, account } = await attempt(host, attack, how)
            expect(tried, `it was tried\n${account}`).toBe(true)
            expect(happened, `it has no effect\n${account}`).toBe(false)
          })
        }
      })
    })
  }
}
