// What a session leaves when it is closed: nothing, whatever its commands did, and no hold on the event loop.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createSession } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, dataOf, openScene } from '../scene.ts'

const descriptors = (): number => readdirSync('/proc/self/fd').length

/** Processor time of this thread: that of others does not count. Bun cannot tell it. */
const { threadCpuUsage } = process as { threadCpuUsage?: () => NodeJS.CpuUsage }

/** The most processor time between two turns of the event loop while `work` goes on, in milliseconds. */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  const over = new AbortController()
  const spent = (): number => {
    const { user, system } = threadCpuUsage?.() ?? { user: 0, system: 0 }
    return (user + system) / 1000
  }
  const turns = (async () => {
    for (let before = spent(); !over.signal.aborted;) {
      await new Promise((resolve) => setImmediate(resolve))
      const now = spent()
      longest = Math.max(longest, now - before)
      before = now
    }
  })()
  await work()
  over.abort()
  await turns
  return longest
}

/** What runs a module, in the runtime of this test. */
const program = (body: string): string[] => (process.versions['bun'] === undefined ? ['--input-type=module', '-e', body] : ['-e', body])

describe('close', () => {
  test('removes what a command locked, linked, and nested deeply', async () => {
    const { session, at, put } = await openScene()
    put('kept/file', 'kept')
    const { scratch } = session
    const script = `cd '${scratch}' && mkdir -p a/b/c && echo x > a/b/c/x && mkfifo a/pipe && ln -s '${at('kept')}' a/link
      d=.; for i in $(seq 300); do mkdir d; cd d; done; cd '${scratch}'; chmod 0 a/b/c a/b a`
    const ended = dataOf<{ exit_code: number; stderr: string }>(await session.call('bash', { command: script }))
    expect(ended).toMatchObject({ exit_code: 0 })
    await session.close()
    expect(existsSync(dirname(scratch))).toBe(false)
    expect(readdirSync(at('kept'))).toEqual(['file'])
  })

  test.runIf(threadCpuUsage !== undefined)('does not hold the event loop while 20,000 files are removed', async () => {
    const { session } = await openScene()
    const make = 'for i in $(seq 20000); do : > $i; done'
    execFileSync('sh', ['-c', make], { cwd: session.scratch })
    // Removing them on this thread takes 150 ms at least.
    expect(await longestTurn(() => session.close())).toBeLessThan(100)
    expect(existsSync(session.scratch)).toBe(false)
  })

  test.runIf(process.platform === 'linux')('gives back the descriptors of its commands, session after session', async () => {
    const fixture = makeSandbox()
    const one = async (): Promise<void> => {
      await using session = await createSession({ workspace: fixture.root, manifest: { name: 'test', permissions: allowAll } })
      expect(dataOf(await session.call('bash', { command: 'echo here' }))).toMatchObject({ stdout: 'here\n' })
    }
    for (let time = 0; time < 3; time += 1) await one()
    const before = descriptors()
    for (let time = 0; time < 40; time += 1) await one()
    // Each of them kept three or more.
    expect(descriptors()).toBeLessThan(before + 10)
  })
})

test.runIf(process.platform === 'linux')(
  '64 sessions work with 256 descriptors',
  () => {
    const root = makeSandbox().root
    const body = `import { createSession } from 'toolwright/contract'
    const manifest = { name: 'test', permissions: ${JSON.stringify(allowAll)} }
    const sessions = []
    for (let n = 0; n < 64; n += 1) sessions.push(await createSession({ workspace: ${JSON.stringify(root)}, manifest }))
    let next = 0
    const said = []
    const lane = async () => {
      for (let n = next++; n < 128; n = next++) {
        const session = sessions[n % 64]
        const wrote = await session.call('write', { path: 'f' + n, content: 'x' })
        const ran = await session.call('bash', { command: 'cat f' + n })
        said.push(wrote.type === 'output' && ran.data?.stdout === 'x' ? 'ok' : JSON.stringify([wrote, ran]))
      }
    }
    await Promise.all(Array.from({ length: 8 }, lane))
    console.log([...new Set(said)].join(' '))
    await Promise.all(sessions.map((session) => session.close()))`
    const command = 'ulimit -n 256 && exec "$0" "$@"'
    const ran = spawnSync('sh', ['-c', command, process.execPath, ...program(body)], { cwd: import.meta.dirname, encoding: 'utf8' })
    expect({ out: ran.stdout.trim(), error: ran.stderr }).toEqual({ out: 'ok', error: '' })
  },
  60_000,
)

describe('processes that are gone', () => {
  const base = mkdtempSync(join(tmpdir(), 'leftovers-'))

  /** Runs a module in a process of its own, whose sessions are below `base`. */
  function run(body: string): string {
    const preamble = `import { createSession } from 'toolwright/contract'
      import { mkdirSync, chmodSync, writeFileSync } from 'node:fs'
      const open = () => createSession({ workspace: ${JSON.stringify(base)}, manifest: { name: 'test' } })\n`
    const ran = spawnSync(process.execPath, program(preamble + body), {
      cwd: import.meta.dirname,
      env: { ...process.env, TMPDIR: base },
      encoding: 'utf8',
    })
    expect(ran.stderr).toBe('')
    return ran.stdout.trim()
  }

  const sessions = (): string[] => {
    const [name = ''] = readdirSync(base).filter((one) => one.startsWith('toolwright-sessions-'))
    return readdirSync(join(base, name))
  }

  test('what a killed one has left goes with a later session, also what is locked', async () => {
    run(`const { scratch } = await open()
      mkdirSync(scratch + '/a/b', { recursive: true }); chmodSync(scratch + '/a', 0)
      process.kill(process.pid, 'SIGKILL')`)
    expect(sessions()).toHaveLength(1)
    run(`const session = await open()
      await session.close()
      await new Promise((resolve) => setTimeout(resolve, 1000))`)
    expect(sessions()).toEqual([])
  })

  test('at the end of a process a small directory goes', () => {
    run(`const { scratch } = await open(); writeFileSync(scratch + '/file', 'x')`)
    expect(sessions()).toEqual([])
  })
})
