import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/processes.ts'
import { runs } from '../support/randomised.ts'
import { type Ended, Host } from './stage/host.ts'
import { controlGroups, family, mountedIn, remaining, type Seen, zombiesOf } from './stage/marked.ts'
import { obstacle, users } from './stage/users.ts'

/** All ways in which a command can end, one after the other. */
const scripts: [script: string, killAfterMs: number][] = [
  ['true', 20_000],
  ['echo out; echo err >&2; exit 3', 20_000],
  ['sleep 30 & setsid sleep 30 & echo started', 20_000],
  ['kill -9 $$', 20_000],
  ['echo x > /tmp/left; mkdir -p /dev/shm/left; head -c 300000 /dev/zero', 20_000],
  ['sleep 30', 40],
  ['./attack linger double-fork none 30 stay', 60],
  ['kill -STOP $$', 40],
]

const call = (host: Host, n: number, more: object = {}): Promise<Ended> => {
  const [script, killAfterMs] = scripts[n % scripts.length] ?? ['true', 20_000]
  const options = { rootDir: host.rootDir, ...more }
  return host.order({ how: 'confined', options, argv: ['sh', '-c', script], cwd: '.', by: n % 2 === 0 ? 'abort' : 'timeout', killAfterMs })
}

const AT_ONCE = 8

const all = async (host: Host, count: number, more?: object): Promise<void> => {
  for (let n = 0; n < count; n += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - n) }, (_, m) => call(host, n + m, more)))
  }
}

const descriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

for (const user of users) {
  const reason = await obstacle(user)

  describe.skipIf(reason !== undefined)(`as ${user.name}`, () => {
    let host: Host
    beforeAll(async () => {
      host = await Host.start(user, { ownTemporary: true })
    })
    afterAll(() => host.stop())

    const many = runs(50)
    test(`${many} commands leave nothing in a host that goes on`, { timeout: 20_000 + many * 500 }, async () => {
      await all(host, 16)
      // As many workers as there will ever be: so many commands at once.
      await Promise.all(Array.from({ length: AT_ONCE }, () => host.order({ how: 'confined', options: { rootDir: host.rootDir }, argv: ['sleep', '0.5'], cwd: '.' })))
      await call(host, 0)
      const before = { host: descriptors(host.pid), family: family(host.pid) }
      // Those that stay with the host: their descriptors are counted, too.
      const held = before.family.map(({ pid }) => descriptors(pid)).toSorted()
      await all(host, many)
      await call(host, 0)
      expect(zombiesOf(host.pid)).toEqual([])
      await eventually(() => descriptors(host.pid) <= before.host)
      expect(descriptors(host.pid)).toBeLessThanOrEqual(before.host)
      const after = family(host.pid)
      expect(after.length).toBeLessThanOrEqual(before.family.length)
      expect(Math.max(...after.map(({ pid }) => descriptors(pid)))).toBeLessThanOrEqual(Math.max(...held))
      for (const { pid } of after) expect(zombiesOf(pid)).toEqual([])
      expect(mountedIn(host.temporary)).toEqual([])
      expect(readdirSync(host.temporary)).toEqual([])
    })

    const kills = runs(5)
    test(`${kills} hosts that are killed leave nothing`, { timeout: 20_000 + kills * 3_000 }, async () => {
      for (let n = 0; n < kills; n += 1) {
        const other = await Host.start(user, { ownTemporary: true })
        const sandbox = n % 2 === 0 ? {} : { sandbox: { limits: { memoryBytes: 1 << 28 }, isolation: 'call' } }
        try {
          await call(other, 1, sandbox)
          const under = Promise.all([call(other, 5, sandbox), call(other, 6, sandbox), call(other, 2, sandbox)])
          await pause(10 + ((n * 37) % 60))
          const seen = family(other.pid)
          other.child.kill('SIGKILL')
          await under
          expect(await goneWith(other, seen)).toEqual(nothing)
        } finally {
          await other.stop()
        }
      }
    })

    test('a host that ends leaves nothing', async () => {
      const other = await Host.start(user, { ownTemporary: true })
      await all(other, 8)
      try {
        const seen = family(other.pid)
        await other.end()
        expect(await goneWith(other, seen)).toEqual(nothing)
      } finally {
        await other.stop()
      }
    })
  })
}

const nothing = { processes: [], mounts: [], groups: [], temporary: [], root: ['attack'] }

/** What is left of a host and all that it had started, after a second at most. */
async function goneWith(host: Host, seen: Seen[]): Promise<typeof nothing> {
  const left = () => ({
    processes: remaining(seen),
    mounts: mountedIn(host.base),
    groups: controlGroups(seen.map(({ pid }) => pid)),
    temporary: readdirSync(host.temporary),
    // Nor what stood for a protected path that did not exist.
    root: readdirSync(host.rootDir),
  })
  await eventually(() => isDeepStrictEqual(left(), nothing), 1_000)
  return left() as typeof nothing
}
