import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { dataOf, failureOf, openScene } from '../../scene.ts'

const text = async (scene: Awaited<ReturnType<typeof openScene>>, args: object): Promise<{ stderr: string; notes: readonly string[] }> => {
  const envelope = await scene.call('bash', args)
  return { stderr: dataOf(envelope).stderr, notes: envelope.metadata.notes ?? [] }
}

describe('programs left in the background', () => {
  test('they are stopped, and the model is told how many', async () => {
    const scene = await openScene()
    expect(await text(scene, { command: 'sleep 100 & echo started' })).toEqual({
      stderr: '',
      notes: [
        '1 program left in the background was stopped: nothing runs on after its call. What another command is to use has to run in the same command line.',
      ],
    })
    const many = await text(scene, { command: 'sleep 100 & sleep 100 & sleep 100 & exit 3' })
    expect(many.notes[0]).toMatch(/^3 programs left in the background were stopped/u)
    for (const command of ['echo a', 'sleep 0.1 & wait', 'echo a | cat | cat', 'cat <(echo a)', 'exit 3']) {
      expect((await text(scene, { command })).notes, command).toEqual([])
    }
  })

  test('a command that ran out of time is told as that alone', async () => {
    const scene = await openScene()
    expect((await text(scene, { command: 'sleep 100 & sleep 100', timeout_ms: 300 })).notes).toEqual([])
  })
})

describe('the sandbox names itself', () => {
  test('in the notes, and never in stderr', async () => {
    const scene = await openScene()
    const { stderr, notes } = await text(scene, { command: `echo x > /etc/toolwright-test` })
    expect(stderr).toMatch(/^\S+\/bash: line 1: \/etc\/toolwright-test: .+\n$/u)
    expect(notes).toEqual([expect.stringMatching(/^This may be the sandbox: .+ can be written; .+\.$/u)])
    expect((await text(scene, { command: 'echo "cat: x: Read-only file system" >&2' })).notes).toEqual([])
  })

  test('curl that says nothing', async () => {
    const scene = await openScene()
    scene.put('bin/curl', '#!/bin/sh\nexit "$CODE"\n')
    const run = async (code: number, url: string): Promise<readonly string[]> =>
      (await text(scene, { command: `chmod +x bin/curl; CODE=${code} PATH=$PWD/bin:$PATH curl -s ${url}` })).notes
    expect(await run(6, 'https://example.com')).toMatchSnapshot()
    expect(await run(7, 'https://192.0.2.1')).toMatchSnapshot()
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const notes = await run(7, `http://localhost:${port}/`)
    server.close()
    expect(notes.map((note) => note.replace(String(port), 'PORT'))).toMatchSnapshot()
    expect(await run(7, 'http://localhost:1/')).toEqual([])
    expect(await run(22, 'https://example.com')).toEqual([])
  })

  const attempt = `python3 -c "import socket; socket.create_connection(('192.0.2.1', 80), 1)" 2>/dev/null`

  test.each(['npx --yes cowsay', 'yarn add x', 'pip install x', 'cargo build', 'git fetch'])(
    '%s that tried to reach the network',
    async (command) => {
      const scene = await openScene()
      const [name = ''] = command.split(' ')
      const line = `${name}() { ${attempt}; sleep 60; }; ${command}`
      const { notes } = await text(scene, { command: line, timeout_ms: 3_000 })
      expect(notes).toEqual([
        `This may be the sandbox: \`${name}\` tried to reach the network, which is blocked; work with what is installed, or have the host grant net.hosts ['*']; a narrower one opens web_fetch alone.`,
      ])
    },
  )

  // Nothing has tried to leave.
  test.each(['npx --no-install x', 'cargo run --offline', 'go run .', 'uv sync', 'git fetch'])(
    '%s that could use a network',
    async (command) => {
      const scene = await openScene()
      const [name = ''] = command.split(' ')
      const { notes } = await text(scene, { command: `${name}() { sleep 60; }; ${command}`, timeout_ms: 300 })
      expect(notes).toEqual([])
    },
  )

  test.each(['sleep 60', 'npm test', 'pnpm run build', 'git log', 'yarn test'])('%s that only takes its time', async (command) => {
    const scene = await openScene()
    const [name = ''] = command.split(' ')
    const line = name === 'sleep' ? command : `${name}() { sleep 60; }; ${command}`
    expect((await text(scene, { command: line, timeout_ms: 300 })).notes).toEqual([])
  })

  test('nothing of it where the network is open', async () => {
    const scene = await openScene({
      manifest: { name: 'test', permissions: [{ permission: '*', pattern: '*', action: 'allow' }], requires: { net: { hosts: ['*'] } } },
    })
    expect((await text(scene, { command: 'npx() { sleep 60; }; npx x', timeout_ms: 300 })).notes).toEqual([])
  })
})

test('a directory to run in that is not there', async () => {
  const { call, put } = await openScene()
  put('file', '')
  const { code, text: told } = failureOf(await call('bash', { command: 'ls', workdir: 'nope' }))
  expect(code).toBe('not_found')
  expect(told).toBe(
    'Directory not found: `nope` [TOOL_FILE_NOT_FOUND] Name an existing directory, or leave `workdir` out to run in the workspace.',
  )
  expect(failureOf(await call('bash', { command: 'ls', workdir: 'file' })).text).toMatch(
    /Name an existing directory, or leave `workdir` out to run in the workspace\.$/u,
  )
})

describe.skipIf(process.platform !== 'linux')("git's configuration", () => {
  test('what is harmless is carried over, and the model is told of the rest, however the command ends', async () => {
    const scene = await openScene()
    execFileSync('git', ['init', '-q', '.'], { cwd: scene.root })
    expect((await text(scene, { command: 'git config user.name Somebody' })).notes).toEqual([])
    for (const end of ['true', 'exit 3']) {
      const { notes } = await text(scene, { command: `git config alias.st status; git config pull.rebase true; ${end}` })
      expect(notes).toEqual([
        'In `.git`, `alias.st` applied to this command only and not to later ones, because such settings can run programs, lead elsewhere or hide files. Use `git -c` for one command, or have the user make the setting outside of the sandbox.',
      ])
    }
    const config = readFileSync(join(scene.root, '.git/config'), 'utf8')
    expect(config).toMatch(/name = Somebody[\s\S]*rebase = true/u)
    expect(config).not.toContain('alias')
  })
})
