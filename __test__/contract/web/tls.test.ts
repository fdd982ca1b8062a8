import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import type { Envelope } from 'toolwright/contract'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startScript } from '../../support/child-script.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { dataOf, failureOf } from '../scene.ts'
import { serve, until } from './web-server.ts'

/** The Node of the project, also where the tests run in Bun. */
const node = join(import.meta.dirname, '../../../node_modules/.bin/node')
const client = join(import.meta.dirname, 'fetch-client.ts')

interface Certificate {
  key: string
  cert: string
}

/** A certificate for a name or an address, from `ca`; without it, its own. */
async function certificate(name: string, ca?: Certificate, days = 1): Promise<Certificate> {
  const entry = /^[\d.]+$/u.test(name) ? { type: 7 as const, ip: name } : { type: 2 as const, value: name }
  const now = Date.now()
  const { private: key, cert } = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    // One that has expired was good the day before.
    notBeforeDate: new Date(now - 2 * 86_400_000),
    notAfterDate: new Date(now + days * 86_400_000),
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'subjectAltName', altNames: [entry] },
    ],
    ...(ca === undefined ? {} : { ca }),
  })
  return { key, cert }
}

async function authority(): Promise<Certificate> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'Test CA' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  })
  return { key, cert }
}

let ca: Certificate
let certificates: Record<string, Certificate>
beforeAll(async () => {
  const other = await authority()
  ca = await authority()
  certificates = {
    '': await certificate('127.0.0.1', ca),
    'good.test': await certificate('good.test', ca),
    // Names that the server answers to with the certificate of somebody else.
    'wrong.test': await certificate('good.test', ca),
    'expired.test': await certificate('expired.test', ca, -1),
    'stranger.test': await certificate('stranger.test', other),
    'self.test': await certificate('self.test'),
  }
})

async function startServer() {
  const child = spawn(node, [join(import.meta.dirname, 'tls-server.mjs')], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stdin.end(JSON.stringify(certificates))
  let message = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (message += text))
  await once(child.stdout, 'data')
  const port = /^port (\d+)/u.exec(message)?.[1] ?? ''
  return { port, lines: () => message.trim().split('\n').slice(1) }
}

/** Fetches in a process that trusts the test's authority besides those of the system, or does not. */
async function fetched(port: string, urls: string[], isTrusted = true): Promise<Envelope[]> {
  const fixture = makeSandbox()
  const trust = isTrusted ? [`NODE_EXTRA_CA_CERTS=${fixture.put('ca.pem', ca.cert)}`] : ['-u', 'NODE_EXTRA_CA_CERTS']
  const { ended } = startScript(client, [fixture.root, port, ...urls], ['env', ...trust])
  const { stdout, stderr, code } = await ended
  expect(code, stderr).toBe(0)
  return JSON.parse(stdout) as Envelope[]
}

describe('R33 web_fetch over TLS', () => {
  test("R33 R15 a certificate of a trusted authority for the URL's host is taken: the name is that of the URL, the address the checked one", async () => {
    const { port, lines } = await startServer()
    const [byName, byAddress, redirected] = (await fetched(port, [
      `https://good.test:${port}/`,
      `https://127.0.0.1:${port}/`,
      `https://good.test:${port}/to?${encodeURIComponent(`https://127.0.0.1:${port}/`)}`,
    ])) as [Envelope, Envelope, Envelope]
    for (const envelope of [byName, byAddress, redirected]) expect(dataOf(envelope)).toMatchObject({ status: 200, text: 'over TLS' })
    await until(() => lines().length === 4)
    const [name, address] = [`request good.test:${port} good.test 127.0.0.1`, `request 127.0.0.1:${port} - 127.0.0.1`]
    expect(lines()).toEqual([name, address, name, address])
  })

  test.each([
    ['wrong.test', 'another host', /its certificate is for another host/u],
    ['expired.test', 'a time that is over', /its certificate has expired/u],
    ['stranger.test', 'an authority that nobody knows', /its certificate is from an authority that is not trusted/u],
    ['self.test', 'itself', /its certificate is signed by nobody but itself/u],
  ])('R33 %s: a certificate of %s is refused before anything is sent, and the failure says why', async (host, _of, why) => {
    const { port, lines } = await startServer()
    const [direct, redirected] = (await fetched(port, [
      `https://${host}:${port}/`,
      `https://good.test:${port}/to?${encodeURIComponent(`https://${host}:${port}/`)}`,
    ])) as [Envelope, Envelope]
    for (const envelope of [direct, redirected]) {
      const { code, text } = failureOf(envelope)
      expect(code).toBe('network_failed')
      expect(text).toContain(host)
      expect(text).toMatch(why)
    }
    expect(lines().filter((line) => line.startsWith(`request ${host}`))).toEqual([])
  })

  test('R33 without NODE_EXTRA_CA_CERTS the authority of a company is refused, and the failure names it as the way', async () => {
    const { port } = await startServer()
    const [envelope] = (await fetched(port, [`https://good.test:${port}/`], false)) as [Envelope]
    expect(failureOf(envelope)).toMatchObject({ code: 'network_failed', text: expect.stringContaining('NODE_EXTRA_CA_CERTS') })
  })

  test('R33 http to a port of TLS, and https to one without, are failures', async () => {
    const { port } = await startServer()
    const [plain] = (await fetched(port, [`http://good.test:${port}/`])) as [Envelope]
    expect(failureOf(plain).code).toBe('network_failed')
    const without = await serve((_, response) => response.end('plain'))
    const [secure] = (await fetched(String(without.port), [`https://good.test:${without.port}/`])) as [Envelope]
    expect(failureOf(secure).code).toBe('network_failed')
    expect(without.requests).toEqual([])
  })
})
