import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { createSocket } from 'node:dgram'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { createInterface } from 'node:readline'
import { programs } from './programs.ts'

/** Something of the host that waits for what must not come. */
export interface Listener {
  /** As an attack takes it: `127.0.0.1:4000`, `[::1]:4000`, a path or a name. */
  address: string
  port: number
  /** Whether a text has come. */
  heard(text: string): boolean
  close(): Promise<void> | void
}

const joined = (host: string, port: number): string => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)

/** Every stream that is opened to it is read. */
function streamServer(): { server: Server; heard: (text: string) => boolean } {
  let all = ''
  const server = createServer((socket) => {
    socket.setEncoding('utf8').on('data', (text: string) => {
      all += text
    })
    socket.on('error', () => undefined)
  })
  return { server, heard: (text) => all.includes(text) }
}

const listening = (server: Server, where: object): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(where, () => resolve())
  })

/** A TCP server. */
export async function listenTcp(host = '127.0.0.1', wanted = 0): Promise<Listener> {
  const { server, heard } = streamServer()
  await listening(server, { host, port: wanted })
  const { port } = server.address() as AddressInfo
  return { address: joined(host, port), port, heard, close: () => void server.close() }
}

/** A server on a socket with a name in the file system, or an abstract one (`@name`). */
export async function listenUnix(path: string): Promise<Listener> {
  const { server, heard } = streamServer()
  await listening(server, { path: path.replace(/^@/u, '\0') })
  if (!path.startsWith('@')) chmodSync(path, 0o777)
  return { address: path.replace(/^@/u, ''), port: 0, heard, close: () => void server.close() }
}

/** A receiver of datagrams. */
export async function listenUdp(host = '127.0.0.1'): Promise<Listener> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  let all = ''
  socket.on('message', (message) => {
    all += message.toString()
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(0, host, () => resolve())
  })
  const { port } = socket.address()
  return { address: joined(host, port), port, heard: (text) => all.includes(text), close: () => void socket.close() }
}

/** What Node has no sockets for: by the attack program, told family, type, protocol and address. */
export async function listenRaw(numbers: [number, number, number], address: string): Promise<Listener> {
  const { attack } = await programs()
  const child: ChildProcess = spawn(attack, ['listen', ...numbers.map(String), address], { stdio: ['ignore', 'pipe', 'inherit'] })
  let all = ''
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
  })
  await new Promise<void>((resolve, reject) => {
    if (child.stdout === null) return
    createInterface({ input: child.stdout }).on('line', (line) => {
      all += `${line}\n`
      if (line === 'listening') resolve()
    })
    void gone.then(() => reject(new Error(`no listener on ${address}: ${all}`)))
  })
  if (address.startsWith('/')) chmodSync(address, 0o777)
  return {
    address: address.replace(/^@/u, ''),
    port: Number(/:(\d+)$/u.exec(address)?.[1] ?? 0),
    heard: (text) => all.includes(text),
    close: () => {
      child.kill('SIGKILL')
      return gone
    },
  }
}

/** An address of this machine that is not on the loopback interface, or else none of those that every loopback interface has. */
export function outerAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  const ipv4 = all.filter(({ family }) => family === 'IPv4')
  return (ipv4.find(({ internal }) => !internal) ?? ipv4.find(({ address }) => !address.startsWith('127.')))?.address
}
