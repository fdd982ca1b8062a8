// docs/decisions/2026-11-24-hosts-by-name.md: with hosts named, a command reaches those and nothing else.
import { createSocket, type Socket } from 'node:dgram'
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { createTools, sandboxReport } from 'toolwright'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'
import { attacks, prelude } from './host-attacks.ts'

const report = await sandboxReport()
const isHeld = process.platform === 'linux' && /process namespace/u.test(report.processKill.mechanism) && report.loopback.level === 'kernel'
const hasPython = (() => {
  try {
    execFileSync('python3', ['-c', ''], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()
const host = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === 'IPv4' && !one.internal)?.address

/** With `tlsNames`, a command gets other sockets. */
const modes = [
  ['attacks on the list of hosts', false],
  ['attacks on the list of hosts, with connections that are held to their names', true],
] as const

describe.skipIf(!isHeld || !hasPython).each(modes)('%s', { timeout: 60_000 }, (_, tlsNames) => {
  const abstract = `toolwright-victim-${process.pid}-${tlsNames}`
  let echo: HttpServer
  let victims: Server[]
  let datagrams: Socket[]
  let visits: string[]
  let port: number
  beforeAll(async () => {
    visits = []
    echo = createHttpServer((_, response) => response.end('here'))
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
    const victim = createServer((socket) => {
      visits.push(`TCP from ${socket.remoteAddress}`)
      socket.destroy()
    })
    await new Promise<void>((resolve) => victim.listen(0, '::', resolve))
    ;({ port } = victim.address() as AddressInfo)
    const unix = createServer((socket) => {
      visits.push('a unix socket')
      socket.destroy()
    })
    await new Promise<void>((resolve) => unix.listen(`\0${abstract}`, resolve))
    victims = [victim, unix]
    datagrams = [createSocket('udp4'), createSocket({ type: 'udp6', ipv6Only: true })]
    for (const socket of datagrams) {
      socket.on('message', (text) => void visits.push(`UDP ${String(text)}`))
      await new Promise<void>((resolve) => socket.bind(port, resolve))
    }
  })
  afterAll(() => {
    for (const server of [echo, ...victims]) server.close()
    for (const socket of datagrams) socket.close()
  })

  function commands() {
    const { root } = makeSandbox()
    const network = {
      allow: ['echo.test:80', '*.echo.test', 'localhost', hostname(), '*.leak.invalid'],
      deny: ['secret.echo.test'],
      tlsNames,
      addresses: { 'echo.test': `127.0.0.1:${(echo.address() as AddressInfo).port}` },
    }
    const { bash } = createTools({ rootDir: root, sandbox: { network }, toolTimeoutMs: 50_000 })
    const run = async (cmd: string, ...args: string[]): Promise<string> =>
      bash
        .execute({ cmd, args }, { toolCallId: 'call' })
        .then(String, (error: { details: { output?: string } }) => error.details.output ?? '')
    return { root, run }
  }

  /** Where a name led an earlier command of the same network. */
  const lookUp = `import socket; print(socket.gethostbyname('echo.test'))`

  test.each(Object.entries(attacks))('%s', async (_, body) => {
    const { root, run } = commands()
    const path = join(root, 'unix.sock')
    const unix = createServer(() => void visits.push('a unix socket in the root'))
    await new Promise<void>((resolve) => unix.listen(path, resolve))
    try {
      const old = (await run('python3', '-c', lookUp)).trim()
      expect(old).toMatch(/^198\.1[89]\./u)
      const filled = body
        .replaceAll('OLD', old)
        .replaceAll('VICTIM', String(port))
        .replaceAll('HOST', host ?? '192.0.2.1')
        .replaceAll('ABSTRACT', abstract)
        .replaceAll('SOCKET', path)
        .replaceAll('NAME', hostname())
      const script = `${prelude}    ${filled}\ntry:\n    attack()\nexcept BaseException as error:\n    print('ended with', repr(error), flush=True)\n`
      const output = await run('python3', '-c', script)
      expect(output).toContain('trying')
      expect(output).not.toContain('reached')
      expect(output).not.toMatch(
        /Exception in thread|SyntaxError|NameError|struct\.error|TypeError|AttributeError|ValueError|OverflowError/u,
      )
      // What it could not hurt goes on: the host, and the next command.
      expect(await run('curl', '-sS', 'http://echo.test/')).toBe('here')
      expect(visits).toEqual([])
    } finally {
      unix.close()
    }
  })

  test('there are at least 60 of them', () => {
    expect(Object.keys(attacks).length).toBeGreaterThanOrEqual(60)
  })

  test('the victims hear those who may reach them', async () => {
    const { root } = makeSandbox()
    const { bash } = createTools({ rootDir: root, allowNetwork: true, networkGuard: 'off' })
    const script = `${prelude}    tcp('127.0.0.1', ${port})\n    udp('127.0.0.1', ${port})\nattack()\n`
    await bash.execute({ cmd: 'python3', args: ['-c', script] }, { toolCallId: 'call' })
    await expect.poll(() => visits.length).toBe(2)
    visits.length = 0
  })
})
