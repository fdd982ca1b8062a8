import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTools } from 'toolwright'
import { expect, onTestFinished, test } from 'vitest'
import type { KeptProcess } from '../../ts/core/kept-process.ts'
import type { ToolOptions } from '../../ts/toolkit/settings.ts'
import { keep, printed } from '../support/kept.ts'
import { makeSandbox } from '../support/sandbox.ts'

const PYTHON = '/usr/bin/python3'
const SERVER = `
import socket
l = socket.socket()
l.bind(('127.0.0.1', 0))
l.listen()
while True:
    c = l.accept()[0]
    c.sendall(b'hello')
    c.close()
`

async function serve(root: string, options: ToolOptions = {}): Promise<{ server: KeptProcess; port: number }> {
  const server = await keep(root, [PYTHON, '-c', SERVER], {}, options)
  onTestFinished(() => void server.kill())
  const port = await server.ready({ waitMs: 20_000 })
  if (port === undefined) throw new Error(await printed(server, 'stderr'))
  return { server, port }
}

/** What a command of a tool set gets from a server at the port. */
async function ask(root: string, port: number, options: ToolOptions = {}): Promise<string> {
  const { bash } = createTools({ rootDir: root, ...options })
  const script = `
import socket
try: print(socket.create_connection(('127.0.0.1', ${port})).recv(99).decode())
except ConnectionRefusedError: print('refused')
`
  return (await bash.execute({ cmd: PYTHON, args: ['-c', script] }, { toolCallId: 'call' })).trim()
}

test('a server is reached while sessions come and go', async () => {
  const { root } = makeSandbox()
  const sessions = join(tmpdir(), `toolwright-sessions-${process.getuid?.()}`)
  mkdirSync(sessions, { recursive: true, mode: 0o700 })
  const name = join(sessions, `network-${process.pid}`)
  for (let round = 0; round < 4; round += 1) {
    if (round % 2 === 0) mkdirSync(name)
    const { server, port } = await serve(root)
    for (let call = 0; call < 4; call += 1) {
      if ((round + call) % 2 === 0) rmdirSync(name)
      else mkdirSync(name)
      expect(await ask(root, port)).toBe('hello')
    }
    if (round % 2 === 0) rmdirSync(name)
    await server.kill()
  }
})

test('a server is reached after the root has become a repository, with a submodule, and after a protected file was replaced', async () => {
  const { root, at, put, outside } = makeSandbox()
  const git = (...args: string[]): void => void execFileSync('git', args, { cwd: root, stdio: 'ignore' })
  const { port } = await serve(root)
  git('init', '-q')
  expect(await ask(root, port)).toBe('hello')
  put('.gitmodules', '[submodule "below"]\n\tpath = below\n\turl = /nowhere\n')
  mkdirSync(at('.git/modules/below'), { recursive: true })
  put('below/.git', 'gitdir: ../.git/modules/below\n')
  expect(await ask(root, port)).toBe('hello')
  writeFileSync(join(outside, 'config'), '[core]\n\tbare = false\n')
  renameSync(join(outside, 'config'), at('.git/config'))
  expect(await ask(root, port)).toBe('hello')
})

test('a tool set that is granted something else does not reach the server', async () => {
  const { root, outside, at } = makeSandbox()
  mkdirSync(at('closed'))
  const { port } = await serve(root)
  const { port: other } = await serve(root, { sandbox: { writableRoots: [outside] } })
  const differing: ToolOptions[] = [
    { sandbox: { writableRoots: [outside] } },
    { sandbox: { denyRead: [at('closed')] } },
    { sandbox: { denyRead: [at('absent')] } },
    { sandbox: { denyWrite: [at('closed')] } },
    { sandbox: { readScope: 'system' } },
    { sandbox: { isolation: 'call' } },
    { sandbox: { loopback: 'none' } },
  ]
  const answers = await Promise.all(differing.map((options) => ask(root, port, options).catch((error: Error) => error.message)))
  expect(answers.filter((answer) => answer === 'hello')).toEqual([])
  expect(await ask(root, port)).toBe('hello')
  expect(await ask(root, other, { sandbox: { writableRoots: [outside] } })).toBe('hello')
  expect(await ask(root, other)).toBe('refused')
})
