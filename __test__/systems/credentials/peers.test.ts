// docs/comparison.md: the same clients in sandbox-runtime, which is asked for what it serves and held to nothing
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CANARY, CANARY_FORMS, CredentialHost } from '../../support/credential-host.ts'
import { installedPackages } from '../../support/installed-packages.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { bearer, clients, has, installedNodes, PATH, servePages } from './clients.ts'

const run = promisify(execFile)
const runner = join(import.meta.dirname, 'sandbox-runtime.mjs')
// It needs port 443, and names of its own in a namespace of mounts.
const isHere = process.platform === 'linux' && process.getuid?.() === 0 && has('bwrap') && has('socat', ['-V']) && has('rg')

describe.skipIf(!isHere)('clients in sandbox-runtime 0.0.83', { timeout: 180_000 }, () => {
  const host = CredentialHost.ofSuite()
  const door = createServer((socket) => {
    const other = connect(host.port, '127.0.0.1')
    socket.pipe(other).pipe(socket)
    for (const end of [socket, other]) end.on('error', () => void [socket, other].map((one) => one.destroy()))
  })
  let nodesFolder = ''
  let folder = ''
  const rows: string[] = []
  beforeAll(async () => {
    nodesFolder = await installedNodes()
    folder = await installedPackages('sandbox-runtime', ['@anthropic-ai/sandbox-runtime@0.0.83'])
  }, 600_000)
  beforeAll(() => servePages(host))
  beforeAll(() => new Promise<void>((resolve, reject) => void door.on('error', reject).listen(443, '127.0.0.1', resolve)))
  afterAll(() => {
    door.close()
    console.log(rows.join('\n'))
  })

  test.each(Object.entries(clients))('%s', async (name, { program, version, send = bearer, script, expected = /the page/u }) => {
    if (!program.startsWith('node2') && !has(program, version)) return
    const { root, put, outside } = makeSandbox()
    mkdirSync(join(root, 'home'))
    execFileSync('git', ['init', '-q', '--bare', '-b', 'main', join(outside, 'site.git')])
    execFileSync('git', ['-C', join(outside, 'site.git'), 'config', 'http.receivepack', 'true'])
    host.repository = outside
    put('script', `${script}\necho; true`)
    writeFileSync(join(outside, 'hosts'), `${readFileSync('/etc/hosts', 'utf8')}\n127.0.0.1 api.cred.test\n`)
    writeFileSync(join(outside, 'ca.pem'), host.ca)
    const env = {
      PATH,
      HOME: join(root, 'home'),
      NODES: nodesFolder,
      RUSTUP_HOME: process.env['RUSTUP_HOME'] ?? join(process.env['HOME'] ?? '', '.rustup'),
      TOKEN: CANARY,
      NODE_EXTRA_CA_CERTS: join(outside, 'ca.pem'),
    }
    const line = `mount --bind '${join(outside, 'hosts')}' /etc/hosts && exec '${process.execPath}' '${runner}' '${folder}' '${root}' '${join(root, 'script')}' 2>&1`
    const { stdout } = await run('unshare', ['-m', 'sh', '-c', line], { env, timeout: 120_000 }).catch((error: { stdout?: string }) => ({
      stdout: error.stdout ?? '',
    }))
    const isServed = expected.test(stdout) && host.visits.some(({ headers }) => JSON.stringify(headers).includes('authorization'))
    const shown = CANARY_FORMS.some((form) => stdout.includes(form)) ? ', and the value is shown' : ''
    const why =
      stdout
        .trim()
        .split('\n')
        .findLast((text) => text.trim() !== '') ?? ''
    rows.push(
      `${name} (${typeof send === 'string' ? send : send.header}): ${isServed ? 'served' : `not served: ${why.slice(0, 160)}`}${shown}`,
    )
    // That this one works shows that the others could.
    if (name === 'curl') expect(isServed, stdout).toBe(true)
  })
})
