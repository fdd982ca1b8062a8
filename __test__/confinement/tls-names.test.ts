// docs/tools.md, "Names in TLS": what asks for the name that a command has connected to passes, and nothing else does
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { generate } from 'selfsigned'
import { createTools, type SandboxHosts } from 'toolwright'
import { createSandboxSession } from 'toolwright/sandbox'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { allowAll, dataOf, openScene } from '../contract/scene.ts'
import { makeBareRepository } from '../support/bare-repository.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { isHeld, scriptsOf } from './asking-host.ts'

const has = (program: string, args: string[] = ['--version']): boolean => {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    console.log(`skipped: ${program} is not installed`)
    return false
  }
}
const hasOpenssl = has('openssl', ['version'])
const hasPython = has('python3')

const NAMES = ['a.tls.test', 'b.tls.test']
const denied = (subject: string) => ({ layer: 'network', subject, option: 'sandbox.network.tlsNames' })
const python = (script: string): string => `python3 - <<'PYTHON'\n${script}\nPYTHON`

/** Sends bytes, and says how that ended. */
const raw = (text: string, port = 443): string =>
  python(`
import socket, sys
s = socket.create_connection(('a.tls.test', ${port}), 20)
s.sendall(${text})
try:
    print(s.recv(100))
except ConnectionResetError:
    print('reset')
    sys.exit(7)`)

describe.skipIf(!isHeld)('connections that are held to their names', { timeout: 120_000 }, () => {
  let pem: string
  const served = mkdtempSync(join(tmpdir(), 'toolwright-served-'))
  let host: ReturnType<typeof spawn>
  let ports: { secure: number; greeter: number }
  /** The names that TLS has asked the server for. */
  const asked: string[] = []
  beforeAll(async () => {
    const altNames = NAMES.map((value) => ({ type: 2, value }))
    const pems = await generate([{ name: 'commonName', value: 'tls.test' }], {
      extensions: [
        { name: 'basicConstraints', cA: true },
        { name: 'subjectAltName', altNames },
      ],
    } as never)
    pem = pems.cert
    host = spawn('node', [new URL('./tls-host.mjs', import.meta.url).pathname, served], { stdio: ['pipe', 'pipe', 'inherit'] })
    host.stdin?.end(JSON.stringify({ key: pems.private, cert: pems.cert }))
    const lines = createInterface({ input: host.stdout as NodeJS.ReadableStream })
    ports = await new Promise((resolve) => {
      lines.once('line', (line) => {
        resolve(JSON.parse(line) as typeof ports)
        lines.on('line', (name) => asked.push(name))
      })
    })
  })
  afterAll(() => {
    host.kill()
    rmSync(served, { recursive: true, force: true })
  })

  function commands(network: Partial<SandboxHosts> = {}) {
    asked.length = 0
    const fixture = makeSandbox()
    fixture.put('ca.pem', pem)
    const addresses = Object.fromEntries(NAMES.map((name) => [name, `127.0.0.1:${ports.secure}`]))
    const env = { allow: [], set: { PATH: process.env['PATH'] ?? '', HOME: fixture.root } }
    const hosts = { allow: NAMES, addresses, tlsNames: true, ...network }
    const { bash } = createTools({ rootDir: fixture.root, env, toolTimeoutMs: 100_000, sandbox: { network: hosts } })
    return { ...fixture, hosts, ...scriptsOf(bash) }
  }

  const clients: [string, string, string][] = [
    ['curl', 'curl', 'curl -sS --cacert ca.pem https://a.tls.test/'],
    ['curl, in capital letters', 'curl', 'curl -sS --cacert ca.pem https://A.TLS.test/ | tr A-Z a-z'],
    ['curl, at another port', 'curl', 'curl -sS --cacert ca.pem https://a.tls.test:8443/ | sed s/:8443//'],
    [
      'Node',
      'node',
      `NODE_EXTRA_CA_CERTS=$PWD/ca.pem node -e "fetch('https://a.tls.test/').then((r) => r.text()).then((t) => process.stdout.write(t))"`,
    ],
    [
      'Python',
      'python3',
      python(`
import ssl, urllib.request
context = ssl.create_default_context(cafile='ca.pem')
print(urllib.request.urlopen('https://a.tls.test/', context=context).read().decode(), end='')`),
    ],
    [
      'openssl',
      'openssl',
      `printf 'GET / HTTP/1.0\\r\\nHost: a.tls.test\\r\\n\\r\\n' | openssl s_client -quiet -ign_eof -CAfile ca.pem -connect a.tls.test:443 2>/dev/null | tail -n1`,
    ],
    [
      'openssl with TLS 1.2',
      'openssl',
      `printf 'GET / HTTP/1.0\\r\\nHost: a.tls.test\\r\\n\\r\\n' | openssl s_client -tls1_2 -quiet -ign_eof -CAfile ca.pem -connect a.tls.test:443 2>/dev/null | tail -n1`,
    ],
    [
      'Bun',
      'bun',
      `NODE_EXTRA_CA_CERTS=$PWD/ca.pem bun -e "fetch('https://a.tls.test/').then((r) => r.text()).then((t) => process.stdout.write(t))"`,
    ],
  ]
  test.each(clients)('%s reaches the name', async (_, program, script) => {
    if (!has(program, program === 'openssl' ? ['version'] : ['--version'])) return
    expect(await commands().sh(script)).toBe('a.tls.test a.tls.test\n')
    expect(asked).toEqual(['a.tls.test'])
  })

  test.skipIf(!hasOpenssl)('so does a client that the server has begin again', async () => {
    const request = `printf 'GET / HTTP/1.0\\r\\nHost: a.tls.test\\r\\n\\r\\n'`
    // The server has no key for the first group.
    const client = 'openssl s_client -msg -groups secp521r1:X25519 -ign_eof -CAfile ca.pem -connect a.tls.test:443'
    const shown = await commands().sh(`${request} | ${client} >shown 2>&1; grep -c 'Handshake.*ClientHello' shown; grep '^a.tls' shown`)
    expect(shown).toBe('2\na.tls.test a.tls.test\n')
  })

  test.skipIf(!has('git'))('git clones', async () => {
    const { sh, text } = commands()
    cpSync(makeBareRepository().bare, join(served, 'repository.git'), { recursive: true })
    await sh('GIT_SSL_CAINFO=$PWD/ca.pem git clone -q https://a.tls.test/files/repository.git cloned')
    expect(text('cloned/README')).toBe('from afar')
    expect(new Set(asked)).toEqual(new Set(['a.tls.test']))
  })

  const attacks: [string, string, string][] = [
    [
      'curl to the host of another name',
      'curl -sS --cacert ca.pem --connect-to b.tls.test:443:a.tls.test:443 https://b.tls.test/',
      'a.tls.test:443',
    ],
    [
      'curl with an address of another name',
      `address=$(getent ahostsv4 a.tls.test | head -n1 | cut -d' ' -f1); curl -sS --cacert ca.pem --resolve b.tls.test:443:$address https://b.tls.test/`,
      'a.tls.test:443',
    ],
    [
      'the same with a name of no list, at another port',
      'curl -sSk --connect-to other.test:8443:a.tls.test:8443 https://other.test:8443/',
      'a.tls.test:8443',
    ],
    ['plain HTTP at 443', 'curl -sS http://a.tls.test:443/', 'a.tls.test:443'],
    ['ssh at 443', `{ exec 3<>/dev/tcp/a.tls.test/443; printf 'SSH-2.0-x\\r\\n' >&3; cat <&3; }`, 'a.tls.test:443'],
  ]
  if (hasOpenssl) {
    for (const version of ['-tls1_2', '-tls1_3']) {
      for (const [what, option] of [
        ['another name', '-servername b.tls.test'],
        ['a name below', '-servername x.a.tls.test'],
        ['no name', '-noservername'],
      ]) {
        attacks.push([
          `openssl ${version} with ${what}`,
          `openssl s_client ${version} ${option} -CAfile ca.pem -connect a.tls.test:443 </dev/null`,
          'a.tls.test:443',
        ])
      }
    }
  }
  if (hasPython) {
    attacks.push(
      [
        'Python with another name',
        python(`
import socket, ssl
context = ssl.create_default_context(cafile='ca.pem')
context.wrap_socket(socket.create_connection(('a.tls.test', 443)), server_hostname='b.tls.test')`),
        'a.tls.test:443',
      ],
      ['TLS that cannot be read', raw("b'\\x16\\x03\\x01\\x00\\x05\\x01\\x00\\x00\\x01\\x03'"), 'a.tls.test:443'],
      ['an alert before TLS', raw("b'\\x15\\x03\\x01\\x00\\x02\\x01\\x00'"), 'a.tls.test:443'],
      ['a hello of SSL 2', raw("b'\\x80\\x2e\\x01\\x03\\x01\\x00\\x15\\x00\\x00\\x00\\x10' + bytes(37)"), 'a.tls.test:443'],
    )
  }
  test.each(attacks)('%s is refused', async (_, script, subject) => {
    const { details, hint } = await commands().refused(`set -e -o pipefail; ${script}\nexit 3`)
    expect(details['denials']).toEqual([denied(subject)])
    const [host = '', port] = subject.split(':')
    expect(details['connections']).toContainEqual(expect.objectContaining({ host, port: Number(port), verdict: 'refused', count: 1 }))
    expect(`${hint}`).toContain('sandbox.network.tlsNames')
    expect(asked).toEqual([])
  })

  test('each of them works where names are not compared', async () => {
    const { sh } = commands({ tlsNames: false })
    expect(await sh(attacks[0]?.[1] ?? '')).toBe('b.tls.test b.tls.test\n')
    expect(asked).toEqual(['b.tls.test'])
  })

  test('a server that speaks first, and plain HTTP, pass at other ports', async () => {
    const { sh } = commands({ allow: ['ssh.tls.test:22'], addresses: { 'ssh.tls.test': `127.0.0.1:${ports.greeter}` } })
    const output = await sh(`exec 3<>/dev/tcp/ssh.tls.test/22; head -n1 <&3; printf 'SSH-2.0-me\\n' >&3; cat <&3`)
    expect(output).toBe('SSH-2.0-host\r\nheard SSH-2.0-me\n')
  })

  test('100 MB arrive whole, in both directions', async () => {
    const { sh } = commands()
    const got = await sh(
      'curl -sS --cacert ca.pem -D headers https://a.tls.test/much | sha256sum | cut -d" " -f1; grep -i ^x-sum headers | tr -d "\\r" | cut -d" " -f2',
    )
    const [received, expected] = got.trim().split('\n')
    expect(received).toMatch(/^[0-9a-f]{64}$/u)
    expect(received).toBe(expected)
    const sent = await sh(
      'head -c 104857600 /dev/urandom > much; sha256sum much | cut -d" " -f1; curl -sS --cacert ca.pem --data-binary @much https://a.tls.test/sum',
    )
    const [own, theirs] = sent.split('\n')
    expect(theirs).toBe(own)
  })

  test('an abort in the middle ends everything', async () => {
    const { sh } = commands()
    const run = new AbortController()
    const call = sh('curl -sS --limit-rate 1M --cacert ca.pem https://a.tls.test/much >much', run.signal)
    await expect.poll(() => asked.length, { timeout: 10_000 }).toBe(1)
    run.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    expect(await sh('curl -sS --cacert ca.pem https://a.tls.test/')).toBe('a.tls.test a.tls.test\n')
  })

  test('a host that the user has agreed to is held to its name too', async () => {
    const { sh, refused } = commands({ allow: [], ask: ['*.tls.test'], onAsk: () => 'allow_once' })
    expect(await sh('curl -sS --cacert ca.pem https://a.tls.test/')).toBe('a.tls.test a.tls.test\n')
    const { details } = await refused('curl -sSk --connect-to b.tls.test:443:a.tls.test:443 https://b.tls.test/')
    expect(details['denials']).toEqual([denied('a.tls.test:443')])
  })

  test('so are the commands of a session, its processes, and a sandbox session', async () => {
    const { hosts } = commands()
    const attack = 'curl -sSk --connect-to b.tls.test:443:a.tls.test:443 https://b.tls.test/ 2>/dev/null || echo no'
    const requires = { fs: { read: ['/**'], write: ['{workspace}/**'] }, net: { hosts: ['*.tls.test'] }, shell: [{ cmd: '*' }] }
    const manifest = { name: 'held', permissions: allowAll, requires }
    const { call } = await openScene({ manifest, sandbox: { network: hosts } } as never)
    const envelope = await call('bash', { command: `${attack}; curl -sSk https://a.tls.test/` })
    expect(dataOf(envelope)).toMatchObject({ stdout: 'no\na.tls.test a.tls.test\n' })
    expect(envelope.metadata.denials).toEqual([denied('a.tls.test:443')])
    const { root: rootDir } = makeSandbox()
    const session = createSandboxSession({ rootDir, sandbox: { network: hosts } })
    onTestFinished(() => session.close())
    expect(await session.run({ command: attack })).toMatchObject({ stdout: 'no\n' })
    const tools = createTools({ rootDir, processes: true, sandbox: { network: hosts } })
    onTestFinished(() => tools[Symbol.asyncDispose]())
    await tools.process_start.execute({ command: `${attack}; curl -sSk https://b.tls.test/; sleep 60`, wait_ms: 0 })
    await expect
      .poll(async () => (await tools.process_read.execute({ process_id: 'p1', from: 0 })).output, { timeout: 20_000 })
      .toBe('no\nb.tls.test b.tls.test\n')
  })

  test('an option that is none is refused', () => {
    const { root: rootDir } = makeSandbox()
    const network = { allow: [], tlsNames: 'yes' as never }
    expect(() => createTools({ rootDir, sandbox: { network } })).toThrow('sandbox.network.tlsNames')
  })
})
