import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createTools, ToolError, type CreateToolsOptions } from 'toolwright'
import { makeSandbox } from '../../support/sandbox.ts'

/** What the error of a failed script advises; an empty text if it advises nothing. */
async function hintOf(script: string, options: CreateToolsOptions = {}): Promise<string> {
  const { bash } = createTools({ rootDir: makeSandbox().root, toolTimeoutMs: 10_000, networkGuard: 'off', ...options })
  try {
    await bash.execute({ cmd: 'sh', args: ['-c', script] })
  } catch (error) {
    if (ToolError.isInstance(error)) return error.hint
    throw error
  }
  throw new Error(`${script} did not fail`)
}

const python = (code: string): string => `python3 -c "${code}"`
const connect = python(`import socket; socket.create_connection(('192.0.2.1', 80), 2)`)

describe.runIf(process.platform === 'linux')('A note about a refusal', () => {
  test.each([
    ['the network, by an address', connect, /the network is blocked/u],
    ['the network, by a name', python(`import socket; socket.getaddrinfo('example.org', 80)`), /the network is blocked/u],
    ['the network, without a word', 'curl -s http://192.0.2.1/', /could not connect/u],
    ['a path that is read-only', 'touch /usr/x', /only the root directory/u],
    ['a path after cd', 'cd /usr && touch ./x', /only the root directory/u],
    [
      'a path in another line',
      `echo "error: cannot write /usr/x" >&2; echo "Read-only file system" >&2; exit 1`,
      /only the root directory/u,
    ],
    ['namespaces', 'unshare -m true', /cannot make namespaces/u],
    ['mounts', 'mount -t tmpfs none .', /cannot mount|^$/u],
    ['a set-user bit', 'touch a; chmod u+s a', /rights of its owner/u],
  ])('names %s', async (_, script, words) => {
    expect(await hintOf(script)).toMatch(words)
  })

  test.each([
    ['a name in a failed test', `echo "getaddrinfo ENOTFOUND db" >&2; exit 1`],
    ['a mocked error', `echo "Error: connect ENETUNREACH 192.0.2.1:80" >&2; exit 1`],
    ['a lock', python(`import fcntl, os; a = open('l', 'w'); b = open('l', 'w'); fcntl.flock(a, 2); fcntl.flock(b, 6)`)],
    ['a number', 'echo "errno 300" >&2; exit 1'],
    ['a table', 'echo "permission denied for table sales.socks" >&2; exit 1'],
    ['a mode', 'touch a; chmod 0 .; ls a; exit 2'],
  ])('is not made of %s', async (_, script) => {
    expect(await hintOf(script)).toBe('')
  })

  test('is not made of an attempt before', async () => {
    const { bash } = createTools({ rootDir: makeSandbox().root, networkGuard: 'off' })
    await bash.execute({ cmd: 'sh', args: ['-c', `${connect} 2>/dev/null; true`] })
    await expect(bash.execute({ cmd: 'sh', args: ['-c', 'echo ENETUNREACH; exit 1'] })).rejects.toMatchObject({ hint: '' })
  })

  test('says of a timeout that something tried to reach the network', async () => {
    const waits = `npx() { ${connect}; sleep 20; }; npx x`
    expect(
      await hintOf(`PATH=$PWD:$PATH; echo '#!/bin/sh' > npx; echo '${python('1')}; sleep 20' >> npx; chmod +x npx; npx x`, {
        toolTimeoutMs: 1000,
      }),
    ).toMatch(/Make it do less/u)
    expect(await hintOf(waits, { toolTimeoutMs: 1500 })).toMatch(/tried to reach the network|Make it do less/u)
  })

  test('names a unix socket of the host', async () => {
    const fixture = makeSandbox()
    const path = join(fixture.root, 'd.sock')
    const server = createServer().listen(path)
    await new Promise((resolve) => server.once('listening', resolve))
    try {
      const { bash } = createTools({ rootDir: fixture.root })
      const script = python(`import socket; socket.socket(socket.AF_UNIX).connect('d.sock')`)
      const failed: unknown = await bash
        .execute({ cmd: 'sh', args: ['-c', `${script} || { echo "connect d.sock: permission denied: ${path}"; exit 1; }`] })
        .catch((error: unknown) => error)
      expect(ToolError.isInstance(failed) ? failed.hint : '').toContain('is a unix socket')
    } finally {
      server.close()
    }
  })
})
