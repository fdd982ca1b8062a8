import { afterAll, beforeAll, describe, test } from 'vitest'
import { Host } from './stage/host.ts'
import { type How, Scene } from './stage/scene.ts'
import { obstacle, users } from './stage/users.ts'
import { type Work, works } from './stage/works.ts'

async function done(host: Host, { prepare, script }: Work, how: How): Promise<string> {
  const scene = await Scene.make(host, how, true, {})
  try {
    await prepare?.(scene)
    const { output, how: end, message } = await scene.run(['sh', '-c', script], { killAfterMs: 30_000 })
    return `${output}\nended with ${end} ${message ?? ''}`
  } finally {
    await scene.end()
  }
}

for (const user of users) {
  const reason = await obstacle(user)

  describe.skipIf(reason !== undefined).concurrent(`as ${user.name}`, () => {
    let host: Host
    beforeAll(async () => {
      host = await Host.start(user, { ownHome: false })
    })
    afterAll(() => host.stop())

    for (const work of works) {
      test.concurrent(work.name, { timeout: 60_000 }, async ({ expect, skip }) => {
        const plain = await done(host, work, 'plain')
        if (!work.prints.test(plain) || !/ended with 0 /u.test(plain)) {
          console.log(`skipped: ${work.name}, as ${user.name}: does not work here without confinement either (${plain.trim().slice(-200)})`)
          skip('does not work here without confinement either')
        }
        const confined = await done(host, work, 'confined')
        expect(confined).toMatch(work.prints)
        expect(confined).toMatch(/ended with 0 /u)
      })
    }
  })
}
