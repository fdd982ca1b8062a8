import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createTools } from 'toolwright'

/** As the AI SDK calls a tool. */
const CALL = { toolCallId: 'call', messages: [] }
const BYTES = 256 << 20
const PIECE = Buffer.alloc(256 << 10)

/** Connects 200 times to an address that is looked up once, and prints the median in milliseconds. */
const CONNECT = `import socket, statistics, sys, time
address = socket.getaddrinfo(sys.argv[1], int(sys.argv[2]), socket.AF_INET, socket.SOCK_STREAM)[0][4]
times = []
for _ in range(200):
  s = socket.socket(); begin = time.perf_counter(); s.connect(address); times.append(time.perf_counter() - begin); s.close()
print(statistics.median(times) * 1000)`

/** Reads all that a server sends, and prints the milliseconds and the bytes. */
const READ = `import socket, sys, time
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.sendall(b'go')
view, count, begin = bytearray(1 << 18), 0, time.perf_counter()
while True:
  n = s.recv_into(view)
  if n == 0: break
  count += n
print((time.perf_counter() - begin) * 1000, count)`

/** Sends all of it to whoever asks. */
async function serve() {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', async () => {
      for (let left = BYTES; left > 0; left -= PIECE.length) if (!socket.write(PIECE)) await once(socket, 'drain')
      socket.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  return server.address().port
}

/** A program with the host by its name, and the same with all of the network. */
async function hosts({ folder }, program) {
  const port = await serve()
  const named = createTools({
    rootDir: folder,
    sandbox: { network: { allow: [`bench.test:${port}`], addresses: { 'bench.test': `127.0.0.1:${port}` } } },
  })
  const open = createTools({ rootDir: folder, allowNetwork: true })
  const run = (tools, host) => async () => {
    const [ms, bytes] = (await tools.bash.execute({ cmd: 'python3', args: ['-c', program, host, String(port)] }, CALL)).trim().split(' ')
    if (bytes !== undefined) assert.equal(Number(bytes), BYTES)
    return Number(ms)
  }
  const verify = (ms) => assert.ok(ms > 0, 'nothing was measured')
  return { ours: { run: run(named, 'bench.test'), verify }, direct: { run: run(open, '127.0.0.1'), verify } }
}

const effort = {
  quick: { rounds: 5, batch: 1, budgetMs: 3_000, selfTimed: true },
  full: { rounds: 40, batch: 1, budgetMs: 30_000, selfTimed: true },
}

export const workloads = [
  { id: 'host-connect', alone: true, effort, contenders: (stage) => hosts(stage, CONNECT) },
  { id: 'host-throughput', alone: true, effort, contenders: (stage) => hosts(stage, READ) },
]
