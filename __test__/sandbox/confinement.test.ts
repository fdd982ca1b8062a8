// What commands may not do, the file methods may not either; and nothing that they do reaches more than a command does.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { createSandboxSession, type SandboxSession, type SandboxSessionOptions } from 'toolwright/sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isConfining } from '../confinement/stage/sandbox-options.ts'
import { fingerprint } from '../support/fingerprint.ts'
import { runs, seed } from '../support/randomised.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { bytesOf, collect, streamOf } from './promises/promise.ts'

function scene(options: Partial<SandboxSessionOptions> = {}) {
  const fixture = makeSandbox()
  const session = createSandboxSession({ rootDir: fixture.root, ...options })
  onTestFinished(() => session.close())
  return { fixture, session }
}

/** Every way to change a path. */
const changes: Record<string, (session: SandboxSession, path: string) => Promise<unknown>> = {
  run: async (session, path) => succeeded(await session.run({ command: 'echo x > "$P"', env: { P: path } })),
  'run rm': async (session, path) => succeeded(await session.run({ command: 'rm "$P"', env: { P: path } })),
  spawn: async (session, path) =>
    succeeded(await (await session.spawn({ command: 'echo x > "$P"', env: { P: path }, stdin: true })).wait()),
  writeFile: (session, path) => session.writeFile({ path, content: streamOf(bytesOf('x')) }),
  'writeFile, a long stream': (session, path) =>
    session.writeFile({ path, content: streamOf(...Array.from({ length: 20 }, () => new Uint8Array(100_000))) }),
  writeBinaryFile: (session, path) => session.writeBinaryFile({ path, content: bytesOf('x') }),
  writeTextFile: (session, path) => session.writeTextFile({ path, content: 'x' }),
  deleteFile: async (session, path) => succeeded({ exitCode: (await session.deleteFile({ path })) ? 0 : 1 }),
}

/** Every way to read a path. */
const reads: Record<string, (session: SandboxSession, path: string) => Promise<string | null>> = {
  run: async (session, path) => (await session.run({ command: 'cat "$P"', env: { P: path } })).stdout,
  spawn: async (session, path) => text(await collect((await session.spawn({ command: 'cat "$P"', env: { P: path } })).stdout)),
  readFile: async (session, path) => {
    const stream = await session.readFile({ path })
    return stream && text(await collect(stream))
  },
  readBinaryFile: async (session, path) => text(await session.readBinaryFile({ path })),
  readTextFile: (session, path) => session.readTextFile({ path }),
}

const text = (bytes: Uint8Array | null): string => Buffer.from(bytes ?? []).toString()

function succeeded({ exitCode }: { exitCode: number }): void {
  if (exitCode !== 0) throw new Error(`exit code ${exitCode}`)
}

describe.skipIf(!isConfining).each(Object.entries(changes))('%s cannot change', (how, change) => {
  test.each(['/etc/toolwright-test', '/usr/toolwright-test', '/etc/hostname', '/dev/shm/../../etc/toolwright-test'])('%s', async (path) => {
    const { session } = scene()
    const before = existsSync(path) && readFileSync(path, 'utf8')
    await expect(change(session, path)).rejects.toThrow()
    expect(existsSync(path) && readFileSync(path, 'utf8')).toBe(before)
  })

  test.each(['.git/hooks/pre-commit', '.git/config', 'kept/file'])('what is protected below the root: %s', async (path) => {
    const { fixture, session } = scene({ sandbox: { denyWrite: ['.git/hooks', '.git/config', 'kept'] } })
    for (const name of ['HEAD', 'objects/x', 'refs/x']) fixture.put(`.git/${name}`, 'ref: refs/heads/main\n')
    for (const one of ['.git/hooks/pre-commit', '.git/config', 'kept/file']) fixture.put(one, 'before')
    // Of a repository a command changes a fork.
    if (path.startsWith('.git/') && ['run', 'run rm', 'spawn'].includes(how)) await change(session, path)
    else await expect(change(session, path)).rejects.toThrow()
    expect(fixture.text(path)).toBe('before')
  })

  test('what commands may not read', async () => {
    const { fixture, session } = scene({ sandbox: { denyRead: ['closed', 'closed.txt'] } })
    fixture.put('closed/file', 'before')
    fixture.put('closed.txt', 'before')
    await expect(change(session, 'closed/file')).rejects.toThrow()
    await expect(change(session, 'closed.txt')).rejects.toThrow()
    expect([fixture.text('closed/file'), fixture.text('closed.txt')]).toEqual(['before', 'before'])
  })

  test.each(['link/file', 'file-link', '../outside/file'])('what is outside of the root, by %s', async (path) => {
    const { fixture, session } = scene()
    writeFileSync(join(fixture.outside, 'file'), 'before')
    symlinkSync(fixture.outside, fixture.at('link'))
    symlinkSync(join(fixture.outside, 'file'), fixture.at('file-link'))
    // A link itself may be deleted; the host's file stays.
    await change(session, path).catch(() => undefined)
    expect(readFileSync(join(fixture.outside, 'file'), 'utf8')).toBe('before')
    expect(readdirSync(fixture.outside)).toEqual(['file'])
  })
})

describe.skipIf(!isConfining).each(Object.entries(reads))('%s does not read', (_, read) => {
  const nothing = async (session: SandboxSession, path: string): Promise<string> => (await read(session, path).catch(() => '')) ?? ''

  test('what a narrow scope closes', async () => {
    const { fixture, session } = scene({ sandbox: { readScope: 'system', denyRead: ['/etc/shadow'] } })
    writeFileSync(join(fixture.outside, 'file'), 'secret of the host')
    for (const path of ['/etc/shadow', join(fixture.outside, 'file'), '../outside/file']) expect(await nothing(session, path)).toBe('')
  })

  test('what is closed below the root, by any name', async () => {
    const { fixture, session } = scene({ sandbox: { denyRead: ['closed', 'closed.txt'] } })
    fixture.put('closed/file', 'secret')
    fixture.put('closed.txt', 'secret')
    symlinkSync('closed', fixture.at('link'))
    symlinkSync('closed.txt', fixture.at('file-link'))
    for (const path of ['closed/file', 'closed.txt', 'link/file', 'file-link', 'a/../closed/file', fixture.at('closed/file')])
      expect(await nothing(session, path)).toBe('')
    expect((await session.listDirectory({ path: 'closed' }).catch(() => [])) ?? []).toEqual([])
  })

  test('the private directories of the host, and what another session has there', async () => {
    const { fixture, session } = scene()
    const other = createSandboxSession({ rootDir: fixture.root, home: 'private' })
    onTestFinished(() => other.close())
    const { stdout: home } = await other.run({ command: 'echo secret > ~/file; printf %s "$HOME"' })
    for (const path of [`${home}/file`, `${home}/../own/file`]) expect(await nothing(session, path)).toBe('')
    expect(await nothing(other, `${home}/file`)).toBe('secret\n')
  })
})

test.skipIf(!isConfining)('a server of the host is not reached, by run and by spawn', async () => {
  const { fixture, session } = scene()
  let connections = 0
  const server = createServer(() => void (connections += 1)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as { port: number }
  const command = `exec 3<>/dev/tcp/127.0.0.1/${port}`
  expect((await session.run({ command })).exitCode).not.toBe(0)
  expect(await (await session.spawn({ command })).wait()).not.toEqual({ exitCode: 0 })
  expect(connections).toBe(0)
  expect(existsSync(fixture.at('x'))).toBe(false)
})

const SECRET = 'what nobody may read'

const steps = [
  ['..', '.', '', 'a', 'dir', 'swap', 'swap.txt', 'secret', 'out', 'up', 'absolute', 'loop', '%2e%2e', '..\\', ' ..', '~'],
  ['outside', '\uff0e\uff0e', '$HOME', 'new', 'proc', 'self', 'root', '`id`', '$(id)', '"; cat secret; "', "'"],
].flat()
const step = fc.constantFrom(...steps)

test.skipIf(!isConfining)('paths that were made to lead out lead nowhere, while links are exchanged', { timeout: 120_000 }, async () => {
  const { fixture, session } = scene({ sandbox: { readScope: 'system' } })
  mkdirSync(join(fixture.outside, 'dir'))
  writeFileSync(join(fixture.outside, 'secret'), SECRET)
  writeFileSync(join(fixture.outside, 'dir/secret'), SECRET)
  const before = fingerprint(fixture.outside)
  for (const [name, to] of [
    ['out', fixture.outside],
    ['up', '..'],
    ['absolute', '/'],
    ['loop', 'loop'],
  ] as const) {
    rmSync(fixture.at(name), { force: true })
    symlinkSync(to, fixture.at(name))
  }
  const swapper = spawn(process.execPath, [
    fileURLToPath(new URL('../support/swap-links.ts', import.meta.url)),
    fixture.root,
    fixture.outside,
  ])
  onTestFinished(() => void swapper.kill('SIGKILL'))
  await once(swapper.stdout, 'data')
  const path = fc
    .tuple(
      fc.constantFrom('', `${fixture.outside}/`, '/proc/self/cwd/', '../', `${fixture.root}/`),
      fc.array(step, { minLength: 1, maxLength: 6 }),
    )
    .map(([prefix, steps]) => `${prefix}${steps.join('/')}`)
  const ways = { ...reads, ...changes }
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...Object.keys(ways)), path, async (name, at) => {
      const answer = await ways[name]?.(session, at).catch(String)
      expect(JSON.stringify(answer ?? '')).not.toContain(SECRET)
    }),
    { numRuns: runs(300), seed },
  )
  expect(fingerprint(fixture.outside)).toBe(before)
})
