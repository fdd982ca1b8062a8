// What a command was refused is said with its layer, its subject and the option that opens it, and nothing else is.
import { execFileSync } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createTools, sandboxReport, type SandboxOptions, type ToolError } from 'toolwright'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allowAll, openScene } from '../contract/scene.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { ordinaryFailures } from './ordinary-failures.ts'

const report = await sandboxReport()
const isHeld =
  process.platform === 'linux' &&
  /process namespace/u.test(report.processKill.mechanism) &&
  report.loopback.level === 'kernel' &&
  report.fileMetadata.level === 'kernel'

const has = (program: string): boolean => {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

interface Denial {
  layer: string
  subject: string
  option: string | null
}

type Kind = 'hosts' | 'processes' | 'memory' | 'cpu' | 'size' | 'time'

/** A script, the program that it needs, and what it is refused. A subject that ends with `…` is a beginning. */
type Provoked = [kind: Kind, program: string, script: string, layer: string, subject: string, option: string]

const allow = 'sandbox.network.allow'
const roots = 'sandbox.writableRoots'
const deny = 'sandbox.denyWrite'
const python = (code: string): string => `python3 -c '${code}'`
const node = (code: string): string => `node -e '${code}'`

const provoked: Provoked[] = [
  ['hosts', 'curl', 'curl -sS http://other.test/', 'network', 'other.test', allow],
  ['hosts', 'curl', 'curl -sS http://echo.test:8080/', 'network', 'echo.test:8080', allow],
  ['hosts', 'curl', 'curl -sS http://192.0.2.1/', 'network', '192.0.2.1:80', allow],
  ['hosts', 'curl', 'curl -gsS "http://[2001:db8::1]:81/"', 'network', '[2001:db8::1]:81', allow],
  ['hosts', 'curl', 'curl -sS http://secret.echo.test/', 'network', 'secret.echo.test', 'sandbox.network.deny'],
  ['hosts', 'wget', 'wget -q -O- http://wget.test/', 'network', 'wget.test', allow],
  ['hosts', 'node', node('fetch("http://node.test/").catch(() => process.exit(1))'), 'network', 'node.test', allow],
  [
    'hosts',
    'node',
    node('require("net").connect(5432, "192.0.2.9").on("error", () => process.exit(1))'),
    'network',
    '192.0.2.9:5432',
    allow,
  ],
  ['hosts', 'python3', python('import urllib.request as u; u.urlopen("http://python.test/")'), 'network', 'python.test', allow],
  ['hosts', 'python3', python('import socket; socket.create_connection(("192.0.2.3", 6379), 5)'), 'network', '192.0.2.3:6379', allow],
  ['hosts', 'bash', 'exec 3<>/dev/tcp/bash.test/22', 'network', 'bash.test', allow],
  ['hosts', 'bash', 'exec 3<>/dev/tcp/192.0.2.4/22', 'network', '192.0.2.4:22', allow],
  ['hosts', 'git', 'git clone http://git.test/x.git', 'network', 'git.test', allow],
  ['hosts', 'getent', 'getent hosts getent.test', 'network', 'getent.test', allow],
  ['hosts', 'touch', 'touch /etc/denied-1', 'files', '/etc/denied-1', roots],
  ['hosts', 'bash', 'echo x > /usr/denied-2', 'files', '/usr/denied-2', roots],
  ['hosts', 'node', node('require("fs").writeFileSync("/usr/denied-3", "x")'), 'files', '/usr/denied-3', roots],
  ['hosts', 'python3', python('open("/etc/denied-4", "w")'), 'files', '/etc/denied-4', roots],
  ['hosts', 'mkdir', 'mkdir /usr/denied-5', 'files', '/usr/denied-5', roots],
  ['hosts', 'cp', 'cp own.txt /etc/denied-6', 'files', '/etc/denied-6', roots],
  ['hosts', 'ln', 'ln -s own.txt /etc/denied-7', 'files', '/etc/denied-7', roots],
  ['hosts', 'tee', 'echo x | (tee /etc/denied-8; exit 1)', 'files', '/etc/denied-8', roots],
  ['hosts', 'dd', 'dd if=own.txt of=/etc/denied-9', 'files', '/etc/denied-9', roots],
  ['hosts', 'sh', 'sh -c "echo x > /etc/denied-10"', 'files', '/etc/denied-10', roots],
  ['hosts', 'rm', 'rm -f /etc/passwd', 'files', '/etc/passwd', roots],
  ['hosts', 'chmod', 'chmod 777 /etc/passwd', 'files', '/etc/passwd', roots],
  ['hosts', 'touch', 'touch locked/x', 'files', 'locked/x', deny],
  ['hosts', 'bash', 'echo x > locked/hook', 'files', 'locked/hook', deny],
  ['hosts', 'python3', python('open("locked/y", "w")'), 'files', 'locked/y', deny],
  [
    'processes',
    'perl',
    "perl -e 'for (1..400) { my $p = fork; die qq(Cannot fork: $!) unless defined $p; if (!$p) { sleep 3; exit } }'",
    'limits',
    'processes',
    'sandbox.limits.processes',
  ],
  ['processes', 'dash', "dash -c 'for i in $(seq 400); do sleep 3 & done; wait'", 'limits', 'processes', 'sandbox.limits.processes'],
  [
    'processes',
    'python3',
    python('import threading, time\nfor i in range(400): threading.Thread(target=time.sleep, args=(3,), daemon=True).start()'),
    'limits',
    'processes',
    'sandbox.limits.processes',
  ],
  ['memory', 'python3', python('x = bytearray(4 << 30)'), 'limits', 'memory', 'sandbox.limits.memoryBytes'],
  ['memory', 'python3', python('x = [bytearray(64 << 20) for _ in range(64)]'), 'limits', 'memory', 'sandbox.limits.memoryBytes'],
  ['cpu', 'python3', python('while True: pass'), 'limits', 'processor time', 'sandbox.limits.cpuSeconds'],
  ['cpu', 'bash', 'while :; do :; done', 'limits', 'processor time', 'sandbox.limits.cpuSeconds'],
  ['size', 'dd', 'dd if=/dev/zero of=large bs=1k count=100', 'limits', 'file size', 'sandbox.limits.fileSizeBytes'],
  ['size', 'python3', python('open("large", "wb").write(bytes(100000))'), 'limits', 'file size', 'sandbox.limits.fileSizeBytes'],
  [
    'size',
    'node',
    node('require("fs").writeFileSync("large", Buffer.alloc(100000))'),
    'limits',
    'file size',
    'sandbox.limits.fileSizeBytes',
  ],
  ['time', 'sleep', 'sleep 30', 'limits', 'time', 'toolTimeoutMs'],
]

describe.skipIf(!isHeld)('what a command was refused', { timeout: 120_000 }, () => {
  let server: Server
  let network: NonNullable<SandboxOptions['network']>
  beforeAll(async () => {
    server = createServer((_, response) => response.end('here'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
    network = {
      allow: ['echo.test:80', '*.echo.test', 'closed.test', '*.invalid'],
      deny: ['secret.echo.test'],
      addresses: { 'echo.test': address, 'closed.test': '127.0.0.1:1' },
    }
  })
  afterAll(() => void server.close())

  function commands(kind: Kind) {
    const fixture = makeSandbox()
    fixture.put('own.txt', 'own')
    fixture.put('plain/kept', 'kept')
    fixture.put('locked/kept', 'kept')
    execFileSync('git', ['init', '-q'], { cwd: fixture.root })
    const limits = {
      hosts: {},
      processes: { processes: 30 },
      memory: { memoryBytes: 1 << 30 },
      cpu: { cpuSeconds: 1 },
      size: { fileSizeBytes: 50_000 },
      time: {},
    }[kind]
    const denyWrite = ['.git/hooks', '.git/config', 'locked']
    const { bash } = createTools({
      rootDir: fixture.root,
      sandbox: { network, denyWrite, limits },
      ...(kind === 'time' && { toolTimeoutMs: 700 }),
    })
    const denialsOf = async (script: string): Promise<{ denials: Denial[]; printed: string }> => {
      const call = bash.execute({ cmd: 'bash', args: ['-c', script] }, { toolCallId: script.slice(0, 20) })
      const error = await call.then(
        (output) => expect.fail(`it succeeded: ${script}: ${String(output)}`),
        (thrown: ToolError) => thrown,
      )
      return { denials: (error.details['denials'] ?? []) as Denial[], printed: error.message }
    }
    return { ...fixture, denialsOf }
  }

  test(`is named, in ${provoked.length} of ${provoked.length} cases`, async () => {
    expect(provoked).toHaveLength(40)
    const missed: string[] = []
    let skipped = 0
    for (const [kind, program, script, layer, subject, option] of provoked) {
      if (!has(program)) {
        skipped += 1
        continue
      }
      const { denialsOf, root } = commands(kind)
      const { denials, printed } = await denialsOf(script)
      const expected = { layer, subject: layer === 'files' && !subject.startsWith('/') ? `${root}/${subject}` : subject, option }
      if (denials.length === 0) missed.push(`${script}: ${printed}`)
      // Whatever is named is right.
      else expect(denials, script).toEqual([expected])
    }
    expect(missed.length, missed.join('\n---\n')).toBeLessThanOrEqual(2)
    expect(skipped, 'programs that are not here').toBeLessThanOrEqual(3)
  })

  test('is nothing in 200 ordinary failures', async () => {
    expect(ordinaryFailures.length).toBeGreaterThanOrEqual(200)
    expect(new Set(ordinaryFailures).size).toBe(ordinaryFailures.length)
    const { denialsOf } = commands('hosts')
    for (const script of ordinaryFailures) {
      const { denials } = await denialsOf(script)
      expect(denials, script).toEqual([])
    }
  })

  test('is in the metadata of a session, with every connection', async () => {
    const requires = { fs: { read: ['/**'], write: ['{workspace}/**'] }, net: { hosts: ['echo.test:80'] }, shell: [{ cmd: '*' }] }
    const sandbox = { network: { ...network, allow: ['*'] } }
    const { call } = await openScene({ manifest: { name: 'denials', permissions: allowAll, requires }, sandbox })
    const { metadata } = await call('bash', {
      command: 'curl -sS http://echo.test/; curl -sS http://paid.test/; touch /etc/denied-11; exit 3',
    })
    expect(metadata.denials).toEqual([
      { layer: 'network', subject: 'paid.test', option: 'net.hosts' },
      { layer: 'files', subject: '/etc/denied-11', option: 'fs.write' },
    ])
    expect(metadata.connections).toEqual([
      { host: 'echo.test', port: 80, verdict: 'opened', count: 1, sent_bytes: expect.any(Number), received_bytes: expect.any(Number) },
      { host: 'paid.test', verdict: 'refused', count: expect.any(Number) },
    ])
    const plain = await call('bash', { command: 'true' })
    expect(plain.metadata).not.toHaveProperty('denials')
    expect(plain.metadata).not.toHaveProperty('connections')
  })
})
