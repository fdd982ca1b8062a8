import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/processes.ts'
import { runs } from '../support/randomised.ts'
import { type Ended, Host } from './stage/host.ts'
import { goneWith, nothing } from './stage/left.ts'
import { family, mountedIn, zombiesOf } from './stage/marked.ts'
import { programs } from './stage/programs.ts'
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

/** What not even its owner can look into. */
const LOCKED = 'test -d "$TMPDIR" || TMPDIR=/tmp; umask 777; mkdir "$TMPDIR/locked"'

const MAX_CONCURRENT = 8

const all = async (host: Host, count: number, more?: object): Promise<void> => {
  for (let n = 0; n < count; n += MAX_CONCURRENT) {
    await Promise.all(Array.from({ length: Math.min(MAX_CONCURRENT, count - n) }, (_, m) => call(host, n + m, more)))
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
      await Promise.all(
        Array.from({ length: MAX_CONCURRENT }, () =>
          host.order({ how: 'confined', options: { rootDir: host.rootDir }, argv: ['sleep', '0.5'], cwd: '.' }),
        ),
      )
      await call(host, 0)
      const before = { host: descriptors(host.pid), family: family(host.pid) }
      // Those that stay with the host: their descriptors are counted, too.
      const held = before.family.map(({ pid }) => descriptors(pid)).toSorted()
      await all(host, many)
      await call(host, 0)
      expect(zombiesOf(host.pid)).toEqual([])
      await eventually(() => descriptors(host.pid) <= before.host)
      expect(descriptors(host.pid)).toBeLessThanOrEqual(before.host)
      // One that a worker has just collected may be listed still.
      await eventually(() => family(host.pid).length <= before.family.length + 2)
      const after = family(host.pid)
      // A busy machine has a worker more ready. 50 commands that each left something would leave 50.
      expect(after.length).toBeLessThanOrEqual(before.family.length + 2)
      expect(Math.max(...after.map(({ pid }) => descriptors(pid)))).toBeLessThanOrEqual(Math.max(...held))
      for (const { pid } of after) expect(zombiesOf(pid)).toEqual([])
      expect(mountedIn(host.temporary)).toEqual([])
      expect(readdirSync(host.temporary)).toEqual([])
    })

    /** Kills a host at some moment while it runs commands; `under` is put before it. */
    const kill = async (n: number, under: string[] = []): Promise<void> => {
      const other = await Host.start(user, { ownTemporary: true, under })
      const sandbox: object = n % 2 === 0 ? {} : { sandbox: { limits: { memoryBytes: 1 << 28 }, isolation: 'call' } }
      try {
        const argv = ['sh', '-c', LOCKED]
        const made = await other.order({ how: 'confined', options: { rootDir: other.rootDir, ...sandbox }, argv, cwd: '.' })
        expect(made).toMatchObject({ how: '0' })
        const running = Promise.all([call(other, 5, sandbox), call(other, 6, sandbox), call(other, 2, sandbox)])
        await pause(10 + ((n * 37) % 60))
        const seen = family(other.pid)
        other.child.kill('SIGKILL')
        await running
        expect(await goneWith(other, seen), `host ${n}`).toEqual(nothing)
      } finally {
        await other.stop()
      }
    }

    const kills = runs(5)
    test(`${kills} hosts that are killed leave nothing`, { timeout: 20_000 + kills * 3_000 }, async () => {
      for (let n = 0; n < kills; n += 1) await kill(n)
    })

    // Where a layer is missing, other things stand in for it that could be left.
    const fewer = runs(2)
    test.for(['clone-newns', 'clone-newpid', 'namespaces', 'memfd_create'])(
      `${fewer} hosts that are killed leave nothing, without %s`,
      { timeout: 20_000 + fewer * 3_000 },
      async (denied) => {
        const { deny } = await programs()
        for (let n = 0; n < fewer; n += 1) await kill(n, [deny, denied, '--'])
      },
    )

    // What is left is looked for where others are just making theirs.
    const rounds = runs(5)
    test(
      `${rounds * MAX_CONCURRENT} commands that begin together have a directory for temporary files each, without namespaces`,
      { timeout: 20_000 + rounds * 2_000 },
      async () => {
        const { deny } = await programs()
        const other = await Host.start(user, { ownTemporary: true, under: [deny, 'namespaces', '--'] })
        try {
          const options = { rootDir: other.rootDir, sandbox: { isolation: 'call' as const } }
          const argv = ['sh', '-c', 'echo "$TMPDIR"; echo x > "$TMPDIR/x"']
          for (let round = 0; round < rounds; round += 1) {
            const ended = await Promise.all(
              Array.from({ length: MAX_CONCURRENT }, () => other.order({ how: 'confined', options, argv, cwd: '.' })),
            )
            expect(ended.map(({ how, output }) => (how === '0' ? '' : output))).toEqual(ended.map(() => ''))
            expect(new Set(ended.map(({ output }) => output)).size).toBe(MAX_CONCURRENT)
          }
        } finally {
          await other.stop()
        }
      },
    )

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
