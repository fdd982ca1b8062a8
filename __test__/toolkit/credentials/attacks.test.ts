// docs/security.md, "Credentials": what a command or a host may try to get at a value, and what comes of it
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import type { SandboxCredential } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isHeld } from '../../confinement/asking-host.ts'
import { CANARY, CANARY_FORMS, CredentialHost, makeCertificate } from '../../support/credential-host.ts'

const only = [{ method: 'GET', path: '/open/**' }]
const token: SandboxCredential = { variable: 'TOKEN', hosts: ['api.cred.test'], value: CANARY, send: 'bearer' }

/** Says bytes to the host over TLS, and prints what comes back. `TOKEN` in them is the placeholder. */
const CLIENT = `import { connect } from 'node:tls'
const [text, pause = '0'] = process.argv.slice(2)
const bytes = Buffer.from(JSON.parse('"' + text.replaceAll('TOKEN', process.env.TOKEN).replaceAll('LONG', 'a'.repeat(80_000)) + '"'), 'latin1')
const socket = connect({ host: 'api.cred.test', port: 443, servername: process.env.ASKED ?? 'api.cred.test' })
const send = async () => {
  if (pause === '0') return socket.write(bytes)
  for (const byte of bytes) {
    socket.write(Buffer.of(byte))
    await new Promise((resolve) => setTimeout(resolve, Number(pause)))
  }
}
socket.on('secureConnect', send)
socket.on('data', (data) => process.stdout.write(data))
socket.on('error', (error) => console.log('\\nerror ' + error.code))
socket.setTimeout(700, () => socket.destroy())
socket.on('close', () => process.exit(0))`

const AUTH = 'Authorization: Bearer TOKEN\\\\r\\\\n'
const HOST = 'Host: api.cred.test\\\\r\\\\n'
const END = '\\\\r\\\\n'

function clean(output: string): string {
  for (const form of CANARY_FORMS) expect(output).not.toContain(form)
  return output
}

describe.skipIf(!isHeld)('attacks on credentials', { timeout: 120_000 }, () => {
  const host = CredentialHost.ofSuite()

  function open(credential: Partial<SandboxCredential> = {}) {
    const commands = host.commands([{ ...token, ...credential }])
    commands.put('client.mjs', CLIENT)
    const say = async (text: string, pause = 0): Promise<string> =>
      clean(await commands.sh(`node client.mjs '${text.replaceAll('\\\\', '\\')}' ${pause}`))
    return { ...commands, say }
  }

  const refused: [string, string, RegExp][] = [
    ['a URL in the place of a path', `GET https://api.cred.test/x HTTP/1.1${END}${HOST}${AUTH}${END}`, / 400 /u],
    ['the URL of another host', `GET http://plain.cred.test/x HTTP/1.1${END}Host: plain.cred.test${END}${AUTH}${END}`, / 4\d\d /u],
    ['CONNECT', `CONNECT plain.cred.test:443 HTTP/1.1${END}Host: plain.cred.test:443${END}${AUTH}${END}`, / 400 /u],
    ['another Host', `GET / HTTP/1.1${END}Host: plain.cred.test${END}${AUTH}${END}`, / 421 /u],
    ['another port in Host', `GET / HTTP/1.1${END}Host: api.cred.test:80${END}${AUTH}${END}`, / 421 /u],
    ['a user in Host', `GET / HTTP/1.1${END}Host: api.cred.test@plain.cred.test${END}${AUTH}${END}`, / 4\d\d /u],
    ['two Hosts', `GET / HTTP/1.1${END}${HOST}Host: plain.cred.test${END}${AUTH}${END}`, / 421 /u],
    ['no Host', `GET / HTTP/1.1${END}${AUTH}${END}`, / 421 /u],
    ['two lengths', `POST / HTTP/1.1${END}${HOST}${AUTH}Content-Length: 4${END}Content-Length: 9${END}${END}aaaa`, / 400 /u],
    ['a length with a sign', `POST / HTTP/1.1${END}${HOST}${AUTH}Content-Length: +4${END}${END}aaaa`, / 400 /u],
    ['a coding that is not known', `POST / HTTP/1.1${END}${HOST}${AUTH}Transfer-Encoding: xchunked${END}${END}0${END}${END}`, / 400 /u],
    [
      'chunked that is not last',
      `POST / HTTP/1.1${END}${HOST}${AUTH}Transfer-Encoding: chunked, identity${END}${END}0${END}${END}`,
      / 400 /u,
    ],
    ['two credentials in one request', `GET / HTTP/1.1${END}${HOST}${AUTH}Authorization: Bearer other${END}${END}`, / 400 /u],
    ['a space before a colon', `GET / HTTP/1.1${END}${HOST}Authorization : Bearer TOKEN${END}${END}`, / 400 /u],
    ['a folded header', `GET / HTTP/1.1${END}${HOST}${AUTH} X: folded${END}${END}`, / 400 /u],
    ['a zero byte', `GET / HTTP/1.1${END}${HOST}X: a\\\\u0000b${END}${AUTH}${END}`, / 400 /u],
    ['a lone carriage return', `GET / HTTP/1.1${END}${HOST}X: a\\\\rb${END}${AUTH}${END}`, / 400 /u],
    ['the preface of HTTP/2', `PRI * HTTP/2.0${END}${END}SM${END}${END}`, /^(?!.* 200 )/u],
    ['a negative length', `POST / HTTP/1.1${END}${HOST}${AUTH}Content-Length: -4${END}${END}aaaa`, / 400 /u],
    ['a length in hexadecimal', `POST / HTTP/1.1${END}${HOST}${AUTH}Content-Length: 0x4${END}${END}aaaa`, / 400 /u],
    ['a length that no number has', `POST / HTTP/1.1${END}${HOST}${AUTH}Content-Length: 99999999999999999999${END}${END}aaaa`, / 400 /u],
    ['a header without a name', `GET / HTTP/1.1${END}${HOST}${AUTH}: x${END}${END}`, / 400 /u],
    ['a line without a colon', `GET / HTTP/1.1${END}${HOST}${AUTH}GET /closed HTTP/1.1${END}${END}`, / 400 /u],
    ['a tab before a colon', `GET / HTTP/1.1${END}${HOST}Authorization\\t: Bearer TOKEN${END}${END}`, / 400 /u],
    ['a name that is not ASCII', `GET / HTTP/1.1${END}${HOST}${AUTH}X\\u00e9: 1${END}${END}`, / 400 /u],
    ['a path without a slash', `GET closed HTTP/1.1${END}${HOST}${AUTH}${END}`, / 400 /u],
    ['a control character in a path', `GET /a\\u0001b HTTP/1.1${END}${HOST}${AUTH}${END}`, / 400 /u],
    ['a version of its own', `GET / HTTP/1.9${END}${HOST}${AUTH}${END}`, /^(?!.* 200 )/u],
    ['a head that does not end', `GET / HTTP/1.1${END}${HOST}${AUTH}X: LONG${END}${END}`, /^(?!.* 200 )/u],
  ]
  test.each(refused)('%s is refused', async (_, text, expected) => {
    expect(await open().say(text)).toMatch(expected)
    expect(host.visits).toEqual([])
  })

  test('a length and chunks at once reach the host as one request, or not at all', async () => {
    const { say } = open({ only })
    const inner = `GET /closed HTTP/1.1${END}${HOST}${AUTH}${END}`
    for (const [first, second] of [
      [`Content-Length: 5${END}`, `Transfer-Encoding: chunked${END}`],
      [`Transfer-Encoding: chunked${END}`, `Content-Length: 5${END}`],
    ]) {
      await say(`GET /open/a HTTP/1.1${END}${HOST}${AUTH}${first}${second}${END}0${END}${END}${inner}`)
    }
    expect(host.visits.map(({ url }) => url)).not.toContain('/closed')
    expect(host.visits.every(({ headers }) => headers['content-length'] === undefined || headers['transfer-encoding'] === undefined)).toBe(
      true,
    )
  })

  test('each of several requests on their way is judged', async () => {
    const { say } = open({ only })
    const request = (path: string): string => `GET ${path} HTTP/1.1${END}${HOST}${AUTH}${END}`
    const output = await say(`${request('/open/1')}${request('/closed')}${request('/open/2')}`)
    expect(output.match(/HTTP\/1\.1 \d+/gu)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 403', 'HTTP/1.1 200'])
    expect(host.visits.map(({ url }) => url)).toEqual(['/open/1', '/open/2'])
  })

  test('a body that looks like a request is a body', async () => {
    const { say } = open({ only: [{ path: '/open/**' }] })
    const inner = 'GET /closed HTTP/1.1\\\\r\\\\nHost: api.cred.test\\\\r\\\\nAuthorization: Bearer TOKEN\\\\r\\\\n\\\\r\\\\n'
    await say(
      `POST /open/a HTTP/1.1${END}${HOST}${AUTH}Transfer-Encoding: chunked${END}${END}5${END}abcde${END}0${END}X-Trailer: TOKEN${END}${END}${inner}`,
    )
    expect(host.visits.map(({ url }) => url)).toEqual(['/open/a'])
    expect(host.uploads[0]).toBe('abcde')
  })

  test('a header cannot be named away, nor what frames the message', async () => {
    const { say } = open()
    await say(`GET / HTTP/1.1${END}${HOST}${AUTH}X-Own: 1${END}Connection: authorization, host, x-own${END}${END}`)
    expect(host.last.headers).toMatchObject({ host: 'api.cred.test', authorization: `Bearer ${CANARY}` })
    expect(host.last.headers['x-own']).toBeUndefined()
  })

  test.each(['X-HTTP-Method-Override: DELETE', 'X-Original-URL: /closed', 'X-Rewrite-URL: /closed'])(
    'a rule is not led around by %s',
    async (header) => {
      const { say } = open({ only })
      expect(await say(`GET /open/a HTTP/1.1${END}${HOST}${AUTH}${header}${END}${END}`)).toMatch(/ 400 /u)
      expect(host.visits).toEqual([])
    },
  )

  /** What a server may take a path for, however often it decodes. */
  const meanings = (url: string): string[] => {
    const all = [url]
    for (let times = 0; times < 3; times += 1) {
      try {
        all.push(decodeURIComponent(all.at(-1) as string))
      } catch {
        break
      }
    }
    return all.map((path) => new URL(`https://x${path.replaceAll('\\', '/').replaceAll(/;[^/]*/gu, '')}`).pathname)
  }
  test.each([
    '/open/../closed',
    '/open/./../closed',
    '/open/%2e%2e/closed',
    '/open/.%2E/closed',
    '/open/..%2fclosed',
    '/open%2f..%2fclosed',
    '/open/..%5cclosed',
    '/open/%252e%252e/closed',
    '/open/..;/closed',
    '/open//../../closed',
    '//closed/open/a',
    '/closed?/open/a',
    '/closed#/open/a',
    '/open',
    '/openness/a',
  ])('a rule about paths is not led around by %s', async (path) => {
    const { say } = open({ only })
    const ask = (asked: string): Promise<string> => say(`GET ${asked} HTTP/1.1${END}${HOST}${AUTH}${END}`)
    await ask('/open/a')
    await ask(path)
    expect(host.visits[0]?.url).toBe('/open/a')
    const outside = host.visits.flatMap(({ url }) => meanings(url)).filter((meaning) => !meaning.startsWith('/open/'))
    expect(outside).toEqual([])
  })

  test('an upgrade to anything but websockets is a plain request', async () => {
    const { say } = open()
    await say(
      `GET / HTTP/1.1${END}${HOST}${AUTH}Connection: Upgrade, HTTP2-Settings${END}Upgrade: h2c${END}HTTP2-Settings: AAMAAABkAAQ${END}${END}`,
    )
    expect(host.last.headers.upgrade).toBeUndefined()
  })

  test('a request that comes byte by byte is one request', async () => {
    const output = await open().say(`GET /slow HTTP/1.1${END}${HOST}${AUTH}${END}`, 2)
    expect(output).toContain('HTTP/1.1 200')
    expect(host.last.headers.authorization).toBe(`Bearer ${CANARY}`)
  })

  test('TLS that asks for another name, or speaks HTTP/2 alone, has no connection', async () => {
    const { sh, say, refused: failed } = open()
    clean(
      await sh(
        `ASKED=plain.cred.test node client.mjs 'GET / HTTP/1.1\\r\\nHost: api.cred.test\\r\\nAuthorization: Bearer TOKEN\\r\\n\\r\\n'`,
      ),
    )
    expect(host.visits).toEqual([])
    const shown = await sh('echo | openssl s_client -alpn h2 -connect api.cred.test:443 -servername api.cred.test 2>&1; true')
    expect(shown).toContain('no application protocol')
    const { details } = await failed(
      'echo | openssl s_client -alpn h2 -connect api.cred.test:443 -servername api.cred.test 2>/dev/null; exit 3',
    )
    const denial = { layer: 'network', subject: 'HTTP/2 to api.cred.test:443', option: 'sandbox.network.credentials' }
    expect(details['denials']).toContainEqual(denial)
    expect(await say(`GET / HTTP/1.0${END}${HOST}${AUTH}${END}`)).toMatch(/^HTTP\/1\.[01] 200/u)
  })

  test('text that is no TLS has no connection', async () => {
    const { sh } = open()
    const shown = await sh(`curl -sS -m 5 -H "Authorization: Bearer $TOKEN" http://api.cred.test:443/; echo ended`)
    expect(clean(shown)).toContain('ended')
    expect(host.visits).toEqual([])
  })

  test('a redirect takes a placeholder to the other host', async () => {
    const { sh, put } = open()
    put('ca.pem', host.ca)
    await sh(
      '{ cat ca.pem; echo; cat "$SSL_CERT_FILE"; } >all.pem; curl -sS -L --location-trusted --cacert all.pem -H "Authorization: Bearer $TOKEN" https://api.cred.test/redirect',
    )
    const [first, second] = host.visits
    expect([first?.url, second?.url]).toEqual(['/redirect', '/landed'])
    expect(first?.headers.authorization).toBe(`Bearer ${CANARY}`)
    expect(second?.headers.authorization).toMatch(/^Bearer ghp_/u)
    expect(second?.headers.authorization).not.toContain('CANARY')
  })

  test('the authority is for the hosts of credentials alone, and its key is nowhere', async () => {
    const { sh } = open()
    const shown = await sh(`openssl x509 -in /dev/toolwright-trust/authority.pem -noout -text
grep -rl 'PRIVATE KEY' /dev/toolwright-trust /tmp /dev/shm 2>/dev/null
: >/dev/toolwright-trust/authority.pem || echo read-only
for pid in /proc/[0-9]*; do grep -c toolwright-credentials $pid/task/*/comm 2>/dev/null | grep -v ':0$' | grep -v "^$pid/task/$$"; done; echo end`)
    expect(shown).toMatch(/X509v3 Name Constraints: critical\s+Permitted:\s+DNS:api\.cred\.test\s+Excluded:/u)
    expect(shown).toMatch(/CA:TRUE, pathlen:0/u)
    expect(shown).toContain('read-only')
    expect(shown).not.toMatch(/PRIVATE KEY|authority\.pem\n.*\.pem/u)
  })

  test('another session has another authority and another placeholder', async () => {
    const facts = 'echo $TOKEN; cksum </dev/toolwright-trust/authority.pem'
    const [one, same, other] = [open(), host, open()]
    expect(same).toBe(host)
    expect(await one.sh(facts)).toBe(await one.sh(facts))
    const [mine, theirs] = [await one.sh(facts), await other.sh(facts)].map((text) => text.split('\n'))
    expect(mine?.[0]).not.toBe(theirs?.[0])
    expect(mine?.[1]).not.toBe(theirs?.[1])
    // The placeholder of another session is a text like any other.
    await one.sh(`curl -sS -H "Authorization: Bearer ${theirs?.[0]}" https://api.cred.test/`)
    expect(host.last.headers.authorization).toBe(`Bearer ${theirs?.[0]}`)
  })

  describe('by a hostile server', () => {
    const V = CANARY
    const answers: [string, string][] = [
      ['closes at once', ''],
      ['sends no HTTP', 'SSH-2.0-x\r\n'],
      ['has the value in its reason', `HTTP/1.1 200 ${V}\r\nContent-Length: 2\r\n\r\nok`],
      ['has the value in the name of a header', `HTTP/1.1 200 OK\r\n${V}: 1\r\nContent-Length: 2\r\n\r\nok`],
      ['has the value in an early answer', `HTTP/1.1 103 Early Hints\r\nLink: ${V}\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`],
      ['has the value in a trailer', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: ${V}\r\n\r\n`],
      ['has the value in the extension of a chunk', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=${V}\r\nok\r\n0\r\n\r\n`],
      [
        'cuts the value with chunks',
        `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${[...V].map((letter) => `1\r\n${letter}\r\n`).join('')}0\r\n\r\n`,
      ],
      ['ends in the middle of the value', `HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n${V}${V.slice(0, 20)}`],
      [
        'says two lengths',
        `HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n${V}`,
      ],
      ['upgrades what nobody asked to', `HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n${V}`],
      ['has a header that does not end', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(200_000)}`],
      ['sends a second answer', `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n${V}`],
    ]
    test.each(answers)('that %s', async (_, answer) => {
      const { ca, key, cert } = await makeCertificate(['api.cred.test'])
      let asked = ''
      const server = createServer({ key, cert }, (socket) => {
        socket.on('error', () => undefined)
        socket.once('data', (data) => {
          asked = String(data)
          socket.end(answer)
        })
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => void server.close())
      const addresses = { 'api.cred.test': `127.0.0.1:${(server.address() as AddressInfo).port}` }
      const { sh } = host.commands([token], { authorities: [ca], addresses })
      const shown = await sh('curl -sSi -m 20 -H "Authorization: Bearer $TOKEN" https://api.cred.test/ 2>&1; echo ended')
      expect(asked).toContain(CANARY)
      expect(clean(shown)).toContain('ended')
    })
  })
})
