import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { attacks } from './attacks/all.ts'
import type { Attack, Kind } from './attacks/attack.ts'
import { type Attempt, attempt } from './attempt.ts'
import { eventually } from '../support/processes.ts'
import { runs } from '../support/randomised.ts'
import { Host } from './stage/host.ts'
import { listenTcp } from './stage/listeners.ts'
import { survivors, sweep } from './stage/marked.ts'
import { programs } from './stage/programs.ts'
import { token } from './stage/token.ts'
import { obstacle, users, type User } from './stage/users.ts'

/** Enough where no layer should be missing, but another way is taken to have it. */
const SHORT = new Set([
  'TCP to the loopback of the host',
  'UDP',
  'a unix socket outside',
  'a file outside',
  'chmod',
  'kill',
  'shared memory, read',
])

type Row = 'files' | 'fileMetadata' | 'git' | 'network' | 'loopback' | 'unixSockets' | 'ipc' | 'processKill' | 'env'
type Report = Record<Row | 'limits', { level: 'kernel' | 'best-effort' | 'none'; mechanism: string }>

/** Something that a system may lack, as `deny` takes it away. */
interface Missing {
  denied: string
  /** Rows of the report that say something else then. */
  changes?: readonly Row[]
  /** Calls are refused, and the refusal names this. */
  refused?: RegExp
  only?: 'root' | 'others'
  /** The same layers are missing as in a row above: all attacks are made in a soak alone. */
  again?: true
}

const NOTHING_BUT_FILTERS = ['files', 'fileMetadata', 'git', 'network', 'loopback', 'ipc', 'processKill', 'env'] as const

const missing: readonly Missing[] = [
  { denied: 'landlock', changes: ['files'] },
  { denied: 'landlock=ENOSYS', changes: ['files'], again: true },
  { denied: 'landlock_restrict_self', changes: ['files'], again: true },
  { denied: 'seccomp', changes: ['network', 'loopback', 'unixSockets'], refused: /seccomp/u },
  { denied: 'namespaces', changes: NOTHING_BUT_FILTERS },
  { denied: 'namespaces=ENOSPC', changes: NOTHING_BUT_FILTERS, again: true },
  { denied: 'clone-newuser', only: 'root' },
  { denied: 'clone-newuser', only: 'others', changes: NOTHING_BUT_FILTERS },
  { denied: 'clone-newpid', changes: ['processKill', 'env'] },
  { denied: 'clone-newnet', changes: ['network', 'loopback'] },
  { denied: 'clone-newns', changes: ['files', 'fileMetadata', 'git', 'ipc', 'processKill', 'env'] },
  { denied: 'clone-newipc', changes: ['ipc'] },
  { denied: 'mount', changes: ['files', 'fileMetadata', 'git'] },
  { denied: 'mount_setattr=ENOSYS' },
  { denied: 'open_tree=ENOSYS' },
  { denied: 'move_mount=ENOSYS' },
  { denied: 'memfd_create' },
  { denied: 'execveat' },
  { denied: 'pidfd_open=ENOSYS' },
  { denied: 'openat2=ENOSYS' },
  { denied: 'close_range=ENOSYS' },
  { denied: 'clone-newns,landlock', changes: ['files', 'fileMetadata', 'git', 'processKill', 'env'] },
  { denied: 'clone-newpid,landlock', changes: ['files', 'processKill', 'env'] },
]

const isNetwork = ({ sandbox, needs }: Attack): boolean =>
  sandbox === undefined && !['bash', 'node', 'python3', 'perl', 'curl'].includes(needs ?? '')
const isUnix = ({ name }: Attack): boolean => /unix|abstract/u.test(name)
const named = (kind: Kind, ...names: string[]): Attack[] => {
  const chosen = attacks[kind].filter(({ name }) => names.includes(name))
  expect(chosen).toHaveLength(names.length)
  return chosen
}

/** What each row of the report speaks of. What has no row is between it and the host all the same. */
const samples: Record<Row | 'processes', readonly Attack[]> = {
  // A server waits for what comes, and the same sockets are in the other attacks.
  network: attacks.network.filter((attack) => isNetwork(attack) && !isUnix(attack) && !/server|listening to/u.test(attack.name)),
  loopback: named('network', 'a server that is reached from the host'),
  unixSockets: attacks.network.filter(isUnix),
  files: [
    ...named(
      'files',
      'a file outside',
      'a named pipe outside',
      'by a link in the root',
      'append',
      'remove',
      'a rename over it',
      'io_uring',
      'by a descriptor of a process of the host',
    ),
    ...named('environment', 'the key: by a link of the command', 'the store ~/.ssh/id_ed25519'),
  ],
  fileMetadata: named(
    'metadata',
    'chmod',
    'the times of a file opened for reading',
    'an extended attribute',
    'the flags of a file, by setflags',
  ),
  git: [],
  env: named('environment', 'the environment: its own', 'the environment: of the host', 'the environment: of everybody'),
  processKill: [],
  ipc: named('ipc', 'shared memory, read', 'a message queue, written', 'a POSIX message queue, read', 'a key, read'),
  processes: [
    ...named('environment', 'the arguments of the host'),
    ...named('processes', 'kill', 'pidfd_send_signal', 'process_vm_readv', 'pidfd_getfd', 'prlimit', 'a signal by the owner of a pipe'),
  ],
}

const MIB = 1 << 20

/** What no command gets more of than its limit, as `attack` tries to, and what it says if it does. */
const bounds = [
  { limit: { processes: 24 }, argv: ['processes', '60'], done: '<60 processes>' },
  { limit: { memoryBytes: 128 * MIB }, argv: ['memory', String(300 * MIB)], done: 'all of it' },
  { limit: { cpuSeconds: 1 }, argv: ['burn', '1300'], done: 'all of it' },
  { limit: { fileSizeBytes: MIB }, argv: ['file-of-size', 'long', String(3 * MIB)], done: 'reached' },
] as const

for (const user of users) {
  const reason = await obstacle(user)

  describe.skipIf(reason !== undefined).concurrent(`as ${user.name}, without`, () => {
    const whole = (async () => {
      const host = await Host.start(user)
      try {
        return await reportOf(host)
      } finally {
        await host.stop()
      }
    })()

    // The first to begin, because they take the longest.
    test.concurrent(
      "what a broker of the host's loopback needs: the report says whether there is one",
      { timeout: 60_000 },
      async ({ expect }) => {
        const { deny } = await programs()
        const loopback = { sandbox: { loopback: 'host' as const } }
        for (const [under, level] of [
          [[], 'none'],
          [[deny, 'pidfd_getfd', '--'], 'kernel'],
          [[deny, 'pidfd_open=ENOSYS', '--'], 'kernel'],
        ] as const) {
          const host = await Host.start(user, { under: [...under] })
          const listener = await listenTcp()
          try {
            const report = await reportOf(host, loopback)
            expect(report.loopback.level, report.loopback.mechanism).toBe(level)
            expect(report.network.level).toBe('kernel')
            expect(report.network.mechanism).toMatch(level === 'none' ? /a broker for connections/u : /no broker/u)
            // And it is as it says.
            const argv = [`${host.rootDir}/attack`, 'tcp', listener.address, 'redteam']
            await host.order({ how: 'confined', options: { rootDir: host.rootDir, ...loopback }, argv, cwd: '.' })
            expect(await eventually(() => listener.heard('redteam'), level === 'none' ? 2_000 : 100)).toBe(level === 'none')
          } finally {
            await listener.close()
            await host.stop()
          }
        }
      },
    )

    test.concurrent(
      'what limits rest on: what the report says of them is true, or the call is refused by name',
      { timeout: 60_000 },
      async ({ expect }) => {
        const { deny } = await programs()
        const held: string[] = []
        // Bun does not start without that call.
        const limitCalls = process.versions['bun'] === undefined ? ['prlimit64'] : []
        for (const denied of [undefined, 'namespaces', 'clone-newpid', 'mount', ...limitCalls]) {
          const host = await Host.start(user, { under: denied === undefined ? [] : [deny, denied, '--'] })
          try {
            const { limits } = await reportOf(host, { sandbox: { limits: Object.assign({}, ...bounds.map(({ limit }) => limit)) } })
            held.push(`${limits.level}: ${limits.mechanism}`)
            const gained = bounds.map(async ({ limit, argv, done }) => {
              const options = { rootDir: host.rootDir, sandbox: { limits: limit } }
              const { output, code, message } = await host.order({
                how: 'confined',
                options,
                argv: [`${host.rootDir}/attack`, ...argv],
                cwd: '.',
              })
              if (code === 'TOOL_SANDBOX_UNAVAILABLE') {
                expect([denied, message]).toEqual(['prlimit64', expect.stringContaining('a resource limit')])
              } else expect(output, message).toMatch(/trying/u)
              return output.includes(done) ? [argv[0]] : []
            })
            const came = (await Promise.all(gained)).flat()
            if (limits.level === 'kernel') expect(came, limits.mechanism).toEqual([])
            // What holds alone holds whatever else is missing.
            expect(came.filter((name) => name !== 'processes')).toEqual([])
          } finally {
            await host.stop()
          }
        }
        expect(new Set(held).size, held.join('\n')).toBeGreaterThan(1)
      },
    )

    for (const { denied, changes = [], refused, only, again } of missing) {
      if (only !== undefined && (only === 'root') !== (user.uid === 0)) continue
      test.concurrent(`${denied}: what the report says is true`, { timeout: 60_000 }, async ({ expect }) => {
        const host = await Host.start(user, { under: [(await programs()).deny, denied, '--'] })
        try {
          const report = await reportOf(host)
          const full = await whole
          for (const row of changes) expect(report[row], row).not.toEqual(full[row])
          const one = await host.order({ how: 'confined', options: { rootDir: host.rootDir }, argv: ['echo', 'ran'], cwd: '.' })
          if (report.network.level === 'kernel') expect(one.output, one.message).toBe('ran\n')
          else {
            expect(one).toMatchObject({ code: 'TOOL_SANDBOX_UNAVAILABLE', output: '' })
            if (refused !== undefined) expect(one.message).toMatch(refused)
            return
          }
          const isWhole = changes.length > 0 && (again !== true || runs(1) > 1)
          const came = await attackAll(host, isWhole ? () => true : ({ name }) => SHORT.has(name))
          for (const row of Object.keys(report) as Row[]) {
            if (report[row].level === 'kernel') expect(came[row] ?? [], `${row}: ${report[row].mechanism}`).toEqual([])
          }
          // The network holds, whatever is missing.
          expect([...came.network, ...came.loopback, ...came.unixSockets]).toEqual([])
          if (came.processes.length > 0) expect(report, came.processes.join('; ')).not.toEqual(full)
        } finally {
          await host.stop()
        }
      })
    }

    test.concurrent(
      'what is required: a command is refused, and the layer is named; else what is open is said once on stderr',
      { timeout: 60_000 },
      async ({ expect }) => {
        const { deny } = await programs()
        const cases: [denied: string, layer: RegExp][] = [
          // Nothing is protected, so that the metadata of other files is all that is open.
          ['clone-newns', /a mount namespace is missing.*modes, owners and times/u],
          ['landlock', /Landlock is missing.*named pipes/u],
          ['clone-newns,landlock', /is missing/u],
        ]
        for (const [denied, layer] of cases) {
          const host = await Host.start(user, { under: [deny, denied, '--'], ownHome: false })
          try {
            const run = (sandbox: object) =>
              host.order({ how: 'confined', options: { rootDir: host.rootDir, sandbox }, argv: ['echo', 'ran'], cwd: '.' })
            const refused = await run({ required: true, denyWrite: [] })
            expect(refused, denied).toMatchObject({ code: 'TOOL_SANDBOX_UNAVAILABLE', output: '' })
            expect(refused.message).toMatch(layer)
            for (let n = 0; n < 3; n += 1) expect((await run({})).output, denied).toBe('ran\n')
            const warnings = readFileSync(join(host.base, 'log'), 'utf8').match(/nothing confines their files/gu) ?? []
            expect(warnings, denied).toHaveLength(denied === 'clone-newns,landlock' ? 1 : 0)
          } finally {
            await host.stop()
          }
        }
      },
    )

    /** It may be over at the next call, so it is neither done without nor remembered. */
    test.concurrent('processes or memory for a namespace: the call is refused, and says so', { timeout: 60_000 }, async ({ expect }) => {
      const { deny } = await programs()
      for (const denied of ['clone-newpid=11', 'clone-newuser=12', 'landlock_restrict_self=12']) {
        const host = await Host.start(user, { under: [deny, denied, '--'] })
        try {
          const ended = await host.order({ how: 'confined', options: { rootDir: host.rootDir }, argv: ['echo', 'ran'], cwd: '.' })
          expect(ended, denied).toMatchObject({ output: '' })
          expect(['PROCESS_FAILED', 'TOOL_SANDBOX_UNAVAILABLE'], `${denied}: ${ended.message}`).toContain(ended.code)
        } finally {
          await host.stop()
        }
      }
    })
  })
}

async function reportOf(host: Host, more: object = {}): Promise<Report> {
  return (await host.order({ how: 'report', options: { rootDir: host.rootDir, ...more } })) as Report
}

/** The names of the attacks that had their effect, by what they are on. */
async function attackAll(host: Host, isWanted: (attack: Attack) => boolean): Promise<Record<keyof typeof samples, string[]>> {
  const came = Object.fromEntries(Object.keys(samples).map((row) => [row, []])) as unknown as Record<keyof typeof samples, string[]>
  const queue = Object.entries(samples).flatMap(([row, list]) =>
    list.filter(isWanted).map((attack) => ({ row: row as keyof typeof samples, attack })),
  )
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { row, attack } = next
      if (attack.only !== undefined && (attack.only === 'root') !== (host.user.uid === 0)) continue
      const { happened, tried, account }: Attempt = await attempt(host, attack, 'confined')
      expect(tried, `${attack.name}\n${account}`).toBe(true)
      if (happened) came[row].push(attack.name)
    }
  }
  await Promise.all([work(), work(), work()])
  came.processKill = await outliving(host, host.user)
  return came
}

async function outliving(host: Host, { uid }: User): Promise<string[]> {
  const ways = ['session', 'double-fork', 'daemon', 'deaf', 'stopped', 'keeper', 'namespace']
  const leftovers = await Promise.all(
    ways.map(async (how) => {
      const mark = token()
      try {
        const argv = [`${host.rootDir}/attack`, 'linger', how, mark, '20', 'end']
        await host.order({ how: 'confined', options: { rootDir: host.rootDir }, argv, cwd: '.' })
        return (await survivors(mark)).length > 0 ? [`${how} as ${uid}`] : []
      } finally {
        await sweep(mark)
      }
    }),
  )
  return leftovers.flat()
}
