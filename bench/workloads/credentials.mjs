import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTools } from 'toolwright'
import { createSession } from 'toolwright/contract'

/** As the AI SDK calls a tool. */
const CALL = { toolCallId: 'call', messages: [] }
const NAME = 'bench.test'
const BYTES = 256 << 20
/** What a connection of one gigabit carries in a second. */
const GIGABIT = 118_000_000
const VALUE = 'ghp_x7Gk29QmZp41a8Kd93jfKq02x7Gk29QmZp41'

/** Begins one connection, which trusts what the sandbox does, or this file. */
const CONNECT = `import os, socket, ssl, statistics, sys, time
host, port, authority = sys.argv[1], int(sys.argv[2]), sys.argv[3]
context = ssl.create_default_context(cafile=authority or None)
s = context.wrap_socket(socket.create_connection((host, port)), server_hostname='${NAME}')
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
def ask(path):
  s.sendall(('GET %s HTTP/1.1\\r\\nHost: ${NAME}:%d\\r\\nAuthorization: Bearer %s\\r\\n\\r\\n' % (path, port, os.environ.get('TOKEN', 'none'))).encode())
`

/** Makes 400 requests on a connection, and prints the median in milliseconds. */
const REQUESTS = `${CONNECT}
times = []
for _ in range(400):
  begin = time.perf_counter(); ask('/'); head = b''
  while not head.endswith(b'\\r\\n\\r\\n'): head += s.recv(65536)
  times.append(time.perf_counter() - begin)
assert head.startswith(b'HTTP/1.1 200 '), head
print(statistics.median(times[100:]) * 1000)`

/** Reads a body, and prints the milliseconds and the bytes. */
const body = (query = '') => `${CONNECT}
begin = time.perf_counter(); ask('/?bytes=${BYTES}${query}'); head = b''
while b'\\r\\n\\r\\n' not in head: head += s.recv(65536)
view, count = bytearray(1 << 18), len(head.split(b'\\r\\n\\r\\n', 1)[1])
while count < ${BYTES}: count += s.recv_into(view)
print((time.perf_counter() - begin) * 1000, count)`

async function serve() {
  const server = fork(fileURLToPath(new URL('../tls-server.mjs', import.meta.url)))
  const [{ port, ca }] = await once(server, 'message')
  server.unref()
  server.channel.unref()
  return { port, ca }
}

const verify = (ms) => assert.ok(ms > 0, 'nothing was measured')

/** A server, what a sandbox is told of it, and a program that reaches it with all of the network. */
async function scene(folder) {
  const { port, ca } = await serve()
  const authority = join(folder, 'authority.pem')
  writeFileSync(authority, ca)
  const host = `${NAME}:${port}`
  const network = { allow: [host], addresses: { [NAME]: `127.0.0.1:${port}` } }
  const credentials = { credentials: [{ variable: 'TOKEN', hosts: [host], value: VALUE, send: 'bearer' }], authorities: [ca] }
  const running = (options, program, name, trusted) => {
    const { bash } = createTools({ rootDir: folder, ...options })
    const run = async () => {
      const said = await bash.execute({ cmd: 'python3', args: ['-c', program, name, String(port), trusted] }, CALL)
      const [ms, bytes] = said.trim().split(' ')
      if (bytes !== undefined) assert.equal(Number(bytes), BYTES)
      return Number(ms)
    }
    return { run, verify }
  }
  const direct = (program) => running({ allowNetwork: true }, program, '127.0.0.1', authority)
  return { host, network, credentials, authority, running, direct }
}

/** The same program at a host with a credential, at one that is reached by its name, and with all of the network. */
async function hosts({ folder }, program) {
  const { network, credentials, authority, running, direct } = await scene(folder)
  return {
    ours: running({ sandbox: { network: { ...network, ...credentials } } }, program, NAME, ''),
    named: running({ sandbox: { network } }, program, NAME, authority),
    direct: direct(program),
  }
}

/** A request in a session that decides about each by rules, some of them about paths. */
async function ruled({ folder }) {
  const { host, network, credentials, direct } = await scene(folder)
  const permissions = ['**', '/**', '*'].map((pattern) => ({ permission: '*', pattern, action: 'allow' }))
  const paths = Array.from({ length: 20 }, (_, index) => `TOKEN * ${host}/closed/${index}/*`)
  const session = await createSession({
    workspace: folder,
    manifest: {
      name: 'bench',
      permissions,
      requires: { fs: { read: ['/**'] }, net: { hosts: [NAME] }, shell: [{ cmd: '*' }], capabilities: ['net.credential'] },
    },
    permissions: paths.map((pattern) => ({ permission: 'net.credential', pattern, action: 'deny' })),
    sandbox: { network: { ...network, ...credentials } },
  })
  const run = async () => {
    const { data } = await session.call('bash', { command: `python3 - ${host.replace(':', ' ')} '' <<'END'\n${REQUESTS}\nEND` })
    return Number(data.stdout)
  }
  return { ours: { run, verify }, direct: direct(REQUESTS) }
}

const effort = {
  quick: { rounds: 5, batch: 1, budgetMs: 6_000, selfTimed: true },
  full: { rounds: 40, batch: 1, budgetMs: 60_000, selfTimed: true },
}

export const workloads = [
  { id: 'credential-request', alone: true, effort, contenders: (stage) => hosts(stage, REQUESTS) },
  { id: 'credential-request-ruled', alone: true, effort, contenders: ruled },
  { id: 'credential-body', alone: true, effort, contenders: (stage) => hosts(stage, body()) },
  { id: 'credential-gigabit', alone: true, effort, contenders: (stage) => hosts(stage, body(`&rate=${GIGABIT}`)) },
]
