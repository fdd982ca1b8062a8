// docs/guides/credentials.md: a command uses a token that it never sees
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxCredential, ToolError } from 'toolwright'
import type { HostConnection } from '../../../index.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isHeld } from '../../confinement/asking-host.ts'
import { noteConnections } from '../../support/connections.ts'
import { CANARY, CANARY_FORMS, CredentialHost } from '../../support/credential-host.ts'

const token: SandboxCredential = { variable: 'GITHUB_TOKEN', hosts: ['api.cred.test'], value: CANARY, send: 'bearer' }
const authorized = '-H "Authorization: Bearer $GITHUB_TOKEN"'

describe.skipIf(!isHeld)('credentials', { timeout: 120_000 }, () => {
  const host = CredentialHost.ofSuite()

  test('a header has the value at the host, and a placeholder of its form in the command', async () => {
    const { sh } = host.commands([token])
    const output = await sh(`echo $GITHUB_TOKEN; curl -sS ${authorized} https://api.cred.test/items?q=1`)
    const [placeholder = '', echoed = ''] = output.split('\n')
    expect(placeholder).toMatch(/^ghp_[A-Za-z0-9]{36}$/u)
    expect(placeholder).not.toBe(CANARY)
    expect(host.last.headers.authorization).toBe(`Bearer ${CANARY}`)
    expect(host.last.url).toBe('/items?q=1')
    expect(JSON.parse(echoed).headers.authorization).toBe(`Bearer ${placeholder}`)
  })

  test('a value that a command has in another way is masked in what it prints', async () => {
    const { sh } = host.commands([token])
    const [first, rest] = [CANARY.slice(0, 9), CANARY.slice(9)]
    expect(await sh(`printf '%s' ${first}; printf '%s\\n' ${rest}; echo ${CANARY} | base64 -w0`)).toMatch(
      // The last letters of base64 have the line break in them.
      /^\[GITHUB_TOKEN\]\n\[GITHUB_TOKEN\]\S{0,4}$/u,
    )
  })

  test('a token of GitHub has its own scheme', async () => {
    const { sh } = host.commands([token])
    await sh('curl -sS -H "Authorization: token $GITHUB_TOKEN" https://api.cred.test/')
    expect(host.last.headers.authorization).toBe(`token ${CANARY}`)
  })

  test('basic has it as the name or as the password, and the answer does not', async () => {
    const { sh } = host.commands([{ ...token, send: 'basic' }])
    for (const [user, sent] of [
      ['me:$GITHUB_TOKEN', `me:${CANARY}`],
      ['$GITHUB_TOKEN:x-oauth-basic', `${CANARY}:x-oauth-basic`],
    ]) {
      const output = await sh(`curl -sS -u "${user}" https://api.cred.test/; echo $GITHUB_TOKEN`)
      const [echoed = '', placeholder = ''] = output.split('\n')
      expect(host.last.headers.authorization).toBe(`Basic ${Buffer.from(sent as string).toString('base64')}`)
      const [, coded = ''] = JSON.parse(echoed).headers.authorization.split(' ')
      expect(Buffer.from(coded, 'base64').toString()).toBe((user as string).replace('$GITHUB_TOKEN', placeholder))
    }
  })

  test('a header of its own has it', async () => {
    const { sh } = host.commands([{ ...token, variable: 'COMPANY_KEY', send: { header: 'X-Api-Key' } }])
    const output = await sh('curl -sS -H "x-api-key: $COMPANY_KEY" https://api.cred.test/')
    expect(host.last.headers['x-api-key']).toBe(CANARY)
    expect(output).not.toContain('CANARY')
  })

  test('a header of the answer has the placeholder, and so has a body that comes in pieces', async () => {
    const { sh } = host.commands([token])
    const output = await sh(
      `echo $GITHUB_TOKEN; curl -sSi ${authorized} https://api.cred.test/echo-header; curl -sS ${authorized} https://api.cred.test/pieces`,
    )
    const [placeholder] = output.split('\n')
    expect(output).toMatch(new RegExp(`x-echo: Bearer ${placeholder}`, 'iu'))
    expect(output).toContain(`<Bearer ${placeholder}>`)
    expect(output).not.toContain('CANARY')
  })

  test('a placeholder in a URL, a body or another header stays one', async () => {
    const { sh } = host.commands([token])
    const output = await sh(
      'curl -sS -H "x-other: $GITHUB_TOKEN" -d "t=$GITHUB_TOKEN" "https://api.cred.test/?t=$GITHUB_TOKEN"; curl -sS -H "Authorization: Bearer x$GITHUB_TOKEN" https://api.cred.test/; echo $GITHUB_TOKEN',
    )
    const placeholder = output.trimEnd().split('\n').at(-1)
    expect(host.visits[0]?.url).toBe(`/?t=${placeholder}`)
    expect(host.uploads[0]).toBe(`t=${placeholder}`)
    expect(JSON.stringify(host.visits)).not.toContain('CANARY')
  })

  test('a host without a credential has its own certificate, and gets the placeholder', async () => {
    const { sh, put } = host.commands([token])
    put('ca.pem', host.ca)
    const output = await sh(
      `echo $GITHUB_TOKEN; curl -sS --cacert ca.pem ${authorized} https://plain.cred.test/; echo | openssl s_client -connect plain.cred.test:443 -servername plain.cred.test 2>/dev/null | openssl x509`,
    )
    const [placeholder] = output.split('\n')
    expect(host.last.headers.authorization).toBe(`Bearer ${placeholder}`)
    expect(output.replaceAll(/\s/gu, '')).toContain(host.cert.replaceAll(/\s/gu, ''))
  })

  test('another port of the host is the command’s own', async () => {
    const { sh, put } = host.commands([token], { allow: ['api.cred.test'] })
    put('ca.pem', host.ca)
    await sh(`curl -sS --cacert ca.pem ${authorized} https://api.cred.test:8443/`)
    expect(host.last.headers.authorization).not.toContain('CANARY')
  })

  test('names below a host, and a port', async () => {
    const { sh } = host.commands([{ ...token, hosts: ['*.below.cred.test', 'api.cred.test:8443'] }])
    await sh(`curl -sS ${authorized} https://a.below.cred.test/`)
    expect(host.last.headers.authorization).toBe(`Bearer ${CANARY}`)
    await sh(`curl -sS ${authorized} https://api.cred.test:8443/`)
    expect(host.last.headers.authorization).toBe(`Bearer ${CANARY}`)
  })

  test('rules name the requests that may have it, and the refusal names them', async () => {
    const notes = noteConnections()
    const { sh, refused } = host.commands([{ ...token, only: [{ method: ['GET', 'HEAD'], path: '/repos/acme/*' }] }])
    expect(JSON.parse(await sh(`curl -sS ${authorized} https://api.cred.test/repos/acme/site`)).url).toBe('/repos/acme/site')
    const { message, details } = await refused(`curl -sS --fail-with-body -X DELETE ${authorized} https://api.cred.test/repos/acme/site`)
    expect(message).toContain(
      'The sandbox refused DELETE https://api.cred.test/repos/acme/site: GITHUB_TOKEN may be sent with GET|HEAD /repos/acme/* only',
    )
    expect(details['denials']).toContainEqual({
      layer: 'network',
      subject: 'DELETE https://api.cred.test/repos/acme/site',
      option: 'sandbox.network.credentials',
    })
    expect(host.visits).toHaveLength(1)
    for (const path of ['/repos/acme/../other', '/repos/acme/%2e%2e/other', '/repos/acme/x/y', '/repos/acme/..%2fother']) {
      expect(await sh(`curl -sS --path-as-is ${authorized} https://api.cred.test${path}`)).toContain('GITHUB_TOKEN may be sent with')
    }
    expect(host.visits).toHaveLength(1)
    // Without the placeholder it is anybody's request.
    await sh('curl -sS -X DELETE https://api.cred.test/repos/acme/site')
    expect(host.last.headers.authorization).toBeUndefined()
    const uses = notes.flatMap(({ requests = [] }) => requests)
    expect(uses[0]).toMatchObject({ credential: 'GITHUB_TOKEN', method: 'GET', path: '/repos/acme/site', status: 200, count: 1 })
    expect(uses[0]?.receivedBytes).toBeGreaterThan(100)
    const [{ requests: refusals = [] } = {}] = details['connections'] as HostConnection[]
    expect(refusals).toEqual([expect.objectContaining({ credential: 'GITHUB_TOKEN', method: 'DELETE', refused: 'rule', count: 1 })])
    expect(JSON.stringify(notes)).not.toContain('CANARY')
  })

  test('a function gives the value at its first use, once, and again after a 401', async () => {
    let asked = 0
    const value = async (): Promise<string> => {
      asked += 1
      return CANARY
    }
    const { sh } = host.commands([{ ...token, value }])
    await sh('curl -sS https://api.cred.test/')
    expect(asked).toBe(0)
    const output = await sh(
      `curl -sS ${authorized} https://api.cred.test/ https://api.cred.test/; curl -sS ${authorized} https://api.cred.test/`,
    )
    expect(asked).toBe(1)
    expect(output).not.toContain('CANARY')
    expect(host.visits.slice(1).map(({ headers }) => headers.authorization)).toEqual(Array.from({ length: 3 }, () => `Bearer ${CANARY}`))
    await sh(`curl -sS ${authorized} https://api.cred.test/401 https://api.cred.test/`)
    expect(asked).toBe(2)
  })

  test('a function that fails is an answer that names the variable, and nothing of the error', async () => {
    const warnings: string[] = []
    const listen = ({ message }: Error): void => void warnings.push(message)
    process.on('warning', listen)
    onTestFinished(() => void process.off('warning', listen))
    const values: SandboxCredential['value'][] = [
      () => {
        throw new Error(`the keychain said ${CANARY}`)
      },
      () => Promise.reject(new TypeError(CANARY)),
      () => 'two words',
      () => undefined as unknown as string,
    ]
    for (const value of values) {
      const { refused } = host.commands([{ ...token, value }])
      const error: ToolError = await refused(`curl -sS --fail-with-body ${authorized} https://api.cred.test/`)
      expect(error.message).toContain('The host program gave no value for GITHUB_TOKEN')
      expect(JSON.stringify(error)).not.toContain('CANARY')
    }
    expect(host.visits).toEqual([])
    await expect.poll(() => warnings.length).toBeGreaterThanOrEqual(4)
    expect(warnings.join(' ')).not.toContain('CANARY')
  })

  test('large bodies are streamed in both directions', async () => {
    const { sh } = host.commands([token])
    const output = await sh(
      `curl -sS ${authorized} 'https://api.cred.test/large?mb=64' | wc -c; head -c 50000000 /dev/zero | curl -sS ${authorized} -T - https://api.cred.test/up | grep -o '"length":[0-9]*'`,
    )
    expect(output).toBe(`${64 << 20}\n"length":50000000\n`)
    expect(host.received).toBe(50_000_000)
  })

  test('websockets are piped after the upgrade', async () => {
    const { sh, put } = host.commands([token])
    put(
      'socket.mjs',
      `import { connect } from 'node:tls'
const socket = connect({ host: 'api.cred.test', port: 443, servername: 'api.cred.test' })
socket.write('GET /socket HTTP/1.1\\r\\nHost: api.cred.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\nAuthorization: Bearer ' + process.env.GITHUB_TOKEN + '\\r\\n\\r\\n')
let text = ''
socket.on('data', (data) => {
  text += data
  if (text.endsWith('\\r\\n\\r\\n')) socket.write('hello')
  if (text.endsWith('hello')) socket.end()
})
socket.on('close', () => console.log(text))`,
    )
    const output = await sh('node socket.mjs')
    expect(output).toMatch(/^HTTP\/1\.1 101 .*s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=.*hello\n$/isu)
    expect(host.last.headers.authorization).toBe(`Bearer ${CANARY}`)
  })

  test('a frame of a websocket has the placeholder, and is as long as it was', async () => {
    const { sh, put } = host.commands([token])
    put(
      'socket.mjs',
      `const socket = new WebSocket('wss://api.cred.test/told', { headers: { authorization: 'Bearer ' + process.env.GITHUB_TOKEN } })
let count = 0
socket.onmessage = ({ data }) => {
  console.log(data)
  count += 1
  if (count === 2) process.exit(0)
}
socket.onerror = ({ message }) => console.log('error', message)`,
    )
    // Node's own has no headers.
    const output = await sh('echo $GITHUB_TOKEN; bun socket.mjs')
    const [placeholder, ...messages] = output.trimEnd().split('\n')
    const told = JSON.stringify({ token: `Bearer ${placeholder}` })
    expect(messages).toEqual([told, told])
    expect(host.last.headers['sec-websocket-extensions']).toBeUndefined()
  })

  test('git clones and pushes over https', async () => {
    const credentials: SandboxCredential[] = [{ ...token, hosts: ['git.cred.test'], send: 'basic' }]
    const { sh, outside } = host.commands(credentials)
    const bare = join(outside, 'site.git')
    mkdirSync(bare)
    execFileSync('git', ['init', '-q', '--bare', '-b', 'main', bare])
    execFileSync('git', ['-C', bare, 'config', 'http.receivepack', 'true'])
    host.repository = outside
    const output = await sh(`set -e
git config --global user.name x; git config --global user.email x@y.z
git config --global credential.helper '!f() { echo username=x; echo password=$GITHUB_TOKEN; }; f'
git clone -q https://git.cred.test/git/site.git 2>&1
cd site; echo text >file; git add file; git commit -qm first
head -c 3000000 /dev/urandom >large; git add large; git commit -qm large
git push origin HEAD:main 2>&1; git ls-remote origin`)
    expect(output).toContain('refs/heads/main')
    expect(execFileSync('git', ['-C', bare, 'log', '--format=%s', 'main'], { encoding: 'utf8' })).toBe('large\nfirst\n')
    expect(output).not.toContain('CANARY')
  })

  test.each([
    [
      'Node',
      'node',
      `node -e "fetch('https://api.cred.test/',{headers:{authorization:'Bearer '+process.env.GITHUB_TOKEN}}).then((r)=>r.text()).then(console.log)"`,
    ],
    [
      'Bun',
      'bun',
      `bun -e "fetch('https://api.cred.test/',{headers:{authorization:'Bearer '+process.env.GITHUB_TOKEN}}).then((r)=>r.text()).then(console.log)"`,
    ],
    [
      'Python',
      'python3',
      `python3 -c "
import os, urllib.request
q = urllib.request.Request('https://api.cred.test/', headers={'Authorization': 'Bearer ' + os.environ['GITHUB_TOKEN']})
print(urllib.request.urlopen(q).read().decode())"`,
    ],
  ])('%s needs no settings', async (_, program, script) => {
    try {
      execFileSync(program, ['--version'], { stdio: 'ignore' })
    } catch {
      return console.log(`skipped: ${program} is not installed`)
    }
    const output = await host.commands([token]).sh(script)
    expect(host.last.headers.authorization).toBe(`Bearer ${CANARY}`)
    expect(output).not.toContain('CANARY')
  })

  test('nothing of a command has the value: environment, /proc, files, outputs', async () => {
    const { sh, refused } = host.commands([token])
    const output = await sh(`curl -sSv ${authorized} https://api.cred.test/ >echo 2>&1
env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; cat echo
grep -rlaE 'CANARY' . /tmp /dev/shm /dev/toolwright-trust /etc/ssl 2>/dev/null; echo searched`)
    const error = await refused(`curl -sSv ${authorized} https://api.cred.test/echo-header; exit 7`)
    for (const form of CANARY_FORMS) {
      expect(output).not.toContain(form)
      expect(`${error.message}${JSON.stringify(error.details)}`).not.toContain(form)
    }
  })

  test('a certificate that cannot be verified gets no request', async () => {
    const { refused } = host.commands([token], { authorities: [] })
    const { message } = await refused(`curl -sS --fail-with-body ${authorized} https://api.cred.test/`)
    expect(message).toContain('the certificate of api.cred.test could not be verified')
    expect(host.visits).toEqual([])
  })

  test('wrong options are refused with their place and without the value', () => {
    const wrong: [unknown, string][] = [
      [{ ...token, variable: 'a-b' }, 'variable'],
      [{ ...token, value: `${CANARY} ${CANARY}` }, 'value'],
      [{ ...token, value: 'CANARY' }, 'value'],
      [{ ...token, send: 'cookie' }, 'send'],
      [{ ...token, send: { header: 'a b' } }, 'send'],
      [{ ...token, only: [{ path: 'repos' }] }, 'path'],
      [{ ...token, only: [{ methods: 'GET' }] }, 'methods'],
    ]
    for (const [credential, place] of wrong) {
      const make = () => host.commands([credential as SandboxCredential])
      expect(make, place).toThrow(place)
      expect(make).not.toThrow(/CANARY/u)
    }
    expect(() => host.commands([token, token])).toThrow('twice')
  })

  test('hosts that are no names are refused when a command begins', async () => {
    for (const one of ['10.0.0.1', '*', '*.com', 'https://api.cred.test']) {
      const { refused } = host.commands([{ ...token, hosts: [one] }])
      const { code, message } = await refused('true')
      expect(code).toBe('INVALID_INPUT')
      expect(message).toContain('credentials[0].hosts')
    }
  })
})
