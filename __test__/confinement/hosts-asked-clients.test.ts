// docs/tools.md, "Hosts by name": which programs wait for an answer, and for how long it holds
import { execFileSync } from 'node:child_process'
import type { HostDecision, HostQuestion } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { askingCommands, isHeld, serveHosts } from './asking-host.ts'

const has = (program: string): boolean => {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    console.log(`skipped: ${program} is not installed`)
    return false
  }
}

const python = (script: string): string => `exec 2>&1; python3 - <<'PYTHON'\n${script}\nPYTHON`

/** A host program that takes its time, as a user does. */
function slowHost(decide: (question: HostQuestion) => HostDecision) {
  const asked: string[] = []
  const onAsk = async (question: HostQuestion): Promise<HostDecision> => {
    asked.push(`${question.host}:${question.port}`)
    await new Promise((resolve) => setTimeout(resolve, 300))
    return decide(question)
  }
  return { asked, onAsk }
}

const get = (name: string): string => `fetch('http://${name}.ask.test/').then((r) => r.text()).catch((e) => e.cause.code + '\\n')`

describe.skipIf(!isHeld)('hosts that are asked about', { timeout: 60_000 }, () => {
  const clients: [string, string, string][] = [
    ['curl', 'curl', 'curl -sS http://a.ask.test/ http://b.ask.test/ || true; curl -sS http://c.ask.test/'],
    [
      'curl with transfers at once',
      'curl',
      'curl -sS --parallel http://a.ask.test/ http://b.ask.test/ http://c.ask.test/ 2>/dev/null | sort; true',
    ],
    ['Node', 'node', `node -e "Promise.all([${['a', 'b', 'c'].map(get).join()}]).then((all) => console.log(all.sort().join('')))"`],
    [
      'Python with asyncio',
      'python3',
      python(`
import asyncio
async def one(name):
    try:
        reader, writer = await asyncio.open_connection(name + '.ask.test', 80)
    except OSError as error:
        return name + ' ' + str(error.errno) + '\\n'
    writer.write(b'GET / HTTP/1.0\\r\\nHost: ' + name.encode() + b'.ask.test\\r\\n\\r\\n')
    answer = (await reader.read()).decode()
    writer.close()
    return answer.split('\\r\\n\\r\\n')[1]
async def main():
    print(''.join(sorted(await asyncio.gather(one('a'), one('b'), one('c')))))
asyncio.run(main())`),
    ],
    [
      'Python with a socket that does not wait',
      'python3',
      python(`
import select, socket
for name in 'abc':
    s = socket.socket()
    s.setblocking(False)
    error = s.connect_ex((socket.gethostbyname(name + '.ask.test'), 80))
    if error not in (0, 115):
        print(name, error)
        continue
    assert select.select([], [s], [], 10)[1]
    assert s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
    s.setblocking(True)
    s.sendall(b'GET / HTTP/1.0\\r\\nHost: ' + name.encode() + b'.ask.test\\r\\n\\r\\n')
    print(s.makefile().read().split('\\n\\n')[1].strip())`),
    ],
    [
      'Python that catches a signal meanwhile',
      'python3',
      python(`
import signal, urllib.request as u
signal.signal(signal.SIGALRM, lambda *_: None)
for name in 'abc':
    # It comes while the user thinks.
    signal.setitimer(signal.ITIMER_REAL, 0.15)
    try:
        print(u.urlopen('http://' + name + '.ask.test/').read().decode().strip())
    except OSError:
        print(name)
    signal.setitimer(signal.ITIMER_REAL, 0)`),
    ],
  ]
  test.each(clients)('%s waits for the answer', async (_, program, script) => {
    if (!has(program)) return
    const { network, visits } = await serveHosts()
    const { asked, onAsk } = slowHost(({ host }) => (host === 'b.ask.test' ? 'reject_once' : 'allow_once'))
    const output = await askingCommands({ ...network, onAsk }).sh(script)
    expect(output).toContain('a.ask.test /\n')
    expect(output).toContain('c.ask.test /\n')
    expect(output).not.toContain('b.ask.test /')
    expect(visits.sort()).toEqual(['a.ask.test /', 'c.ask.test /'])
    expect(asked.sort()).toEqual(['a.ask.test:80', 'b.ask.test:80', 'c.ask.test:80'])
  })

  test('many connections of one program wait for one answer', async () => {
    if (!has('node')) return
    const { network, visits } = await serveHosts()
    const { asked, onAsk } = slowHost(() => 'allow_once')
    const script = `node - <<'NODE'
const { Worker } = require('node:worker_threads')
const get = "fetch('http://a.ask.test/').then((r) => r.text()).then((t) => console.log(t.trim()))"
for (let n = 0; n < 8; n += 1) new Worker(get, { eval: true })
NODE`
    const output = await askingCommands({ ...network, onAsk }).sh(script)
    expect(output).toBe('a.ask.test /\n'.repeat(8))
    expect(visits).toHaveLength(8)
    expect(asked).toEqual(['a.ask.test:80'])
  })

  test('a command has 64 questions', async () => {
    if (!has('python3')) return
    const { network } = await serveHosts()
    const asked: number[] = []
    const { sh } = askingCommands({ ...network, onAsk: ({ port }) => (asked.push(port), 'allow_once') })
    const attempt = python(`
import socket
address = socket.gethostbyname('a.ask.test')
results = []
for port in range(8000, 8070):
    s = socket.socket()
    results.append(s.connect_ex((address, port)))
print([results.count(0), results.count(101), results.index(101)])
print(socket.socket().connect_ex((address, 8000)))`)
    expect(await sh(attempt)).toBe('[64, 6, 64]\n0\n')
    expect(asked).toEqual(Array.from({ length: 64 }, (_, index) => 8_000 + index))
    // The next command has its own.
    expect(await sh('curl -sS http://b.ask.test/')).toBe('b.ask.test /\n')
  })

  test('an answer for always is that of one tool set, and one for once is that of one command', async () => {
    const { network } = await serveHosts()
    const decisions: Record<string, HostDecision> = { a: 'allow_always', b: 'reject_always', c: 'allow_once' }
    const asked: string[] = []
    const onAsk = ({ host }: HostQuestion) => (asked.push(host), decisions[host.slice(0, 1)] as HostDecision)
    const options = { ...network, onAsk }
    const script = 'for name in a b c c; do curl -sS http://$name.ask.test/ 2>/dev/null || echo no; done'
    const [one, other] = [askingCommands(options), askingCommands(options)]
    const output = 'a.ask.test /\nno\nc.ask.test /\nc.ask.test /\n'
    expect(await one.sh(script)).toBe(output)
    expect(asked).toEqual(['a.ask.test', 'b.ask.test', 'c.ask.test'])
    expect(await one.sh(script)).toBe(output)
    expect(asked.slice(3)).toEqual(['c.ask.test'])
    expect(await other.sh(script)).toBe(output)
    expect(asked.slice(4)).toEqual(['a.ask.test', 'b.ask.test', 'c.ask.test'])
    // Another port is another question.
    await one.sh('curl -sS http://a.ask.test:8080/')
    expect(asked).toHaveLength(8)
  })

  test('an agreement opens no private address but those that the host program names itself', async () => {
    if (!has('python3')) return
    const { network, visits } = await serveHosts()
    const port = Number(network.addresses?.['a.ask.test']?.split(':')[1])
    const asked: string[] = []
    // The system leads `localhost` to this machine. Programs know it themselves, so the resolver is asked directly.
    const { refused } = askingCommands({
      ...network,
      ask: ['localhost', '*.ask.test'],
      onAsk: ({ host }) => (asked.push(host), 'allow_always'),
    })
    const { details, hint } = await refused(
      python(`
import socket, sys
question = bytes([7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]) + b'\\x09localhost\\x00' + bytes([0, 1, 0, 1])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.sendto(question, (open('/etc/resolv.conf').read().split()[1], 53))
address = socket.inet_ntoa(s.recv(512)[-4:])
for _ in range(2):
    print(socket.socket().connect_ex((address, ${port})))
sys.exit(9)`),
    )
    expect(details).toMatchObject({ exitCode: 9, output: '101\n101\n' })
    expect(asked).toEqual(['localhost'])
    expect(details['denials']).toEqual([{ layer: 'network', subject: `localhost:${port}`, option: 'sandbox.network.addresses' }])
    expect(hint).toContain('outside of the public internet')
    expect(visits).toEqual([])
  })
})
