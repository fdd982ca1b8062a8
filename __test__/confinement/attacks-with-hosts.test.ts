// docs/tools.md, "Hosts by name": what a command that reaches hosts by name cannot do either
import { afterAll, beforeAll, describe, test } from 'vitest'
import { attacks } from './attacks/all.ts'
import type { Kind } from './attacks/attack.ts'
import { isHeld } from './asking-host.ts'
import { attempt } from './attempt.ts'
import { Host } from './stage/host.ts'
import { obstacle, users } from './stage/users.ts'

// `attacks.test.ts` shows that these succeed without confinement. Here each command has a list of hosts.
const all = Object.entries(attacks) as [Kind, (typeof attacks)[Kind]][]
const network = { allow: ['open.test', '*.example.org:443'], addresses: { 'open.test': '127.0.0.1:9' } }

for (const user of users) {
  const reason = await obstacle(user)

  describe.skipIf(reason !== undefined || !isHeld).concurrent(`with hosts, as ${user.name}`, () => {
    let host: Host
    beforeAll(async () => {
      host = await Host.start(user)
    })
    afterAll(() => host.stop())

    describe.each(all)('%s', (_kind, list) => {
      const mine = list.filter(({ only }) => only === undefined || (only === 'root') === (user.uid === 0))
      // Hosts by name are reached from a loopback interface of the command's own.
      for (const attack of mine.filter(({ sandbox }) => sandbox?.loopback === undefined)) {
        test.concurrent(attack.name, { timeout: 60_000 }, async ({ expect }) => {
          const named = { ...attack, sandbox: { ...attack.sandbox, network } }
          const { tried, happened, account } = await attempt(host, named, 'confined')
          expect(tried, `it was tried\n${account}`).toBe(true)
          expect(happened, `it has no effect\n${account}`).toBe(false)
        })
      }
    })
  })
}
