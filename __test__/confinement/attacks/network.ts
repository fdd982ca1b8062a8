import { createSocket } from 'node:dgram'
import { join } from 'node:path'
import { answered, answeredByDatagram, freePort } from '../stage/knocking.ts'
import { outerAddress } from '../stage/listeners.ts'
import { PATIENCE, type Scene } from '../stage/scene.ts'
import type { Attack } from './attack.ts'

const TCP = [2, 1, 0] as const
/** So long a server waits to be reached. */
const SERVED_MS = String(400 * PATIENCE)

/** The token is sent to a listener of the host. */
const sends = (name: string, attack: string, listen: 'tcp' | 'udp', more: Partial<Attack> & { host?: string } = {}): Attack => ({
  name,
  ...more,
  async stage(scene) {
    const listener = await scene[listen](more.host)
    return { run: [attack, listener.address, scene.token], happened: () => listener.heard(scene.token) }
  },
})

/** The same from a script, with what is on every machine of a developer. */
const scripted = (name: string, needs: string, script: (port: number, token: string) => string): Attack => ({
  name,
  needs,
  async stage(scene) {
    const listener = await scene.tcp()
    return { run: script(listener.port, scene.token), happened: () => listener.heard(scene.token) }
  },
})

const outer = outerAddress()

/** With the loopback interface of the host opened, and nothing else. */
const beyondLoopback = (name: string, attack: string, listen: 'tcp' | 'udp', host = '127.0.0.1'): Attack =>
  sends(`${name}, with loopback: 'host'`, attack, listen, { host, sandbox: { loopback: 'host' }, ownRoot: true, needs: 'such sockets' })

export const network: readonly Attack[] = [
  sends('TCP to the loopback of the host', 'tcp', 'tcp'),
  sends('TCP over IPv6', 'tcp', 'tcp', { host: '::1', needs: 'IPv6' }),
  sends('TCP to an address of the machine', 'tcp', 'tcp', { host: outer ?? '127.0.0.1', needs: 'a network interface' }),
  sends('data in the first packet, by sendto', 'fastopen-sendto', 'tcp', { needs: 'TCP Fast Open' }),
  sends('data in the first packet, by sendmsg', 'fastopen-sendmsg', 'tcp', { needs: 'TCP Fast Open' }),
  sends('multipath TCP', 'mptcp', 'tcp', { needs: 'MPTCP' }),
  sends('UDP', 'udp', 'udp'),
  sends('UDP over IPv6', 'udp', 'udp', { host: '::1', needs: 'IPv6' }),
  sends('UDP over a connected socket', 'udp-connected', 'udp'),
  sends('UDP by sendmmsg', 'udp-sendmmsg', 'udp'),
  sends('a raw socket', 'raw', 'udp', { only: 'root' }),
  sends('a raw socket with a header of its own', 'raw-with-header', 'udp', { only: 'root' }),
  sends('a packet socket', 'packet', 'udp', { host: outer ?? '127.0.0.1', only: 'root', needs: 'packet sockets and a network interface' }),
  {
    name: 'listening to what others send',
    only: 'root',
    needs: 'packet sockets',
    async stage(scene) {
      const { port } = await scene.udp()
      const talker = createSocket('udp4')
      const word = scene.token.slice(0, 20)
      const timer = setInterval(() => talker.send(scene.token, port, '127.0.0.1'), 20)
      scene.afterwards(() => {
        clearInterval(timer)
        talker.close()
      })
      return { run: ['eavesdrop', word, '300'], happened: (output) => output.includes(scene.token) }
    },
  },
  sends('io_uring', 'uring-connect', 'tcp', { needs: 'io_uring' }),
  sends('socket by the 32-bit gate', 'i386-connect', 'tcp', { needs: '32-bit system calls' }),
  sends('socketcall by the 32-bit gate', 'i386-socketcall', 'tcp', { needs: '32-bit system calls' }),
  {
    name: 'an IPv4 address in an IPv6 socket',
    needs: 'IPv6',
    async stage(scene) {
      const listener = await scene.tcp()
      return { run: ['tcp', `[::ffff:127.0.0.1]:${listener.port}`, scene.token], happened: () => listener.heard(scene.token) }
    },
  },
  {
    name: 'UDP-Lite',
    needs: 'UDP-Lite',
    async stage(scene) {
      const listener = await scene.raw([2, 2, 136], `127.0.0.1:${await freePort()}`)
      return { run: ['udplite', listener.address, scene.token], happened: () => listener.heard(scene.token) }
    },
  },
  {
    name: 'a server that is reached from the host',
    async stage(scene) {
      const port = await freePort()
      const answer = answered(port, scene.token)
      return { run: ['serve', `127.0.0.1:${port}`, scene.token, SERVED_MS], happened: () => answer }
    },
  },
  {
    name: 'a server of datagrams that is reached from the host',
    async stage(scene) {
      const port = await freePort()
      const answer = answeredByDatagram(port, scene.token)
      return { run: ['serve-udp', `127.0.0.1:${port}`, scene.token, SERVED_MS], happened: () => answer }
    },
  },
  {
    name: 'asking for the interfaces of the host',
    needs: 'an interface beside the loopback',
    stage: () => ({ run: ['interfaces'], happened: (output) => /<(?!lo>|sit0>|tunl0>|ip6tnl0>|gre0>)[a-z]/u.test(output) }),
  },
  {
    name: 'asking who listens on the host',
    needs: 'socket diagnosis',
    async stage(scene) {
      const { port } = await scene.tcp()
      return { run: ['listening'], happened: (output) => output.includes(`<${port}>`) }
    },
  },
  {
    name: 'an address more for the host',
    only: 'root',
    needs: 'CAP_NET_ADMIN',
    async stage(scene) {
      const address = `127.${1 + (process.pid % 200)}.77.9`
      const listener = await scene.tcp()
      scene.afterwards(
        async () => void (await scene.host.order({ how: 'plain', argv: ['ip', 'address', 'del', `${address}/32`, 'dev', 'lo'], cwd: '/' })),
      )
      const known = async () => (await scene.beyond('read', '/proc/net/fib_trie')).output.includes(address)
      return { run: ['add-address', `${address}:${listener.port}`], happened: known }
    },
  },
  ...(
    [
      ['vsock', 40, 1, 0],
      ['the crypto of the kernel', 38, 5, 0],
      ['a key socket', 15, 3, 2],
      ['netlink, generic', 16, 3, 16],
      ['netlink, events of devices', 16, 3, 15],
      ['netlink, audit', 16, 3, 9],
      ['netlink, filter', 16, 3, 12],
      ['XDP', 44, 3, 0],
      ['TIPC', 30, 1, 0],
      ['Bluetooth', 31, 3, 1],
      ['SMC', 43, 1, 0],
    ] as const
  ).map(([family, ...numbers]): Attack => ({
    name: `a socket of another family: ${family}`,
    needs: `sockets of this family`,
    stage: () => ({ run: ['family', ...numbers.map(String)], happened: (output) => output.includes('reached') }),
  })),
  ...unixSockets(),
  scripted('the shell', 'bash', (port, token) => `bash -c 'echo ${token} > /dev/tcp/127.0.0.1/${port}'`),
  scripted(
    'node',
    'node',
    (port, token) => `node -e 'fetch("http:" + "//127.0.0.1:${port}/${token}", { signal: AbortSignal.timeout(500) }).catch(() => {})'`,
  ),
  scripted(
    'python',
    'python3',
    (port, token) => `python3 -c 'import socket; socket.create_connection(("127.0.0.1", ${port})).send(b"${token}")'`,
  ),
  scripted('perl', 'perl', (port, token) => `perl -MIO::Socket::INET -e 'print {IO::Socket::INET->new("127.0.0.1:${port}")} "${token}"'`),
  scripted('curl', 'curl', (port, token) => `curl --max-time 0.5 127.0.0.1:${port}/${token}`),
  beyondLoopback('TCP to another address of the machine', 'tcp', 'tcp', outer),
  beyondLoopback('UDP', 'udp', 'udp'),
  beyondLoopback('UDP to another address', 'udp', 'udp', outer),
  beyondLoopback('multipath TCP', 'mptcp', 'tcp'),
  beyondLoopback('data in the first packet', 'fastopen-sendto', 'tcp', outer),
  beyondLoopback('io_uring', 'uring-connect', 'tcp', outer),
  beyondLoopback('the 32-bit gate', 'i386-connect', 'tcp', outer),
  {
    name: "an address that changes while it is checked, with loopback: 'host'",
    needs: 'a network interface',
    sandbox: { loopback: 'host' },
    ownRoot: true,
    async stage(scene) {
      const [good, bad] = [await scene.tcp(), await scene.tcp(outer ?? '127.0.0.2')]
      return { run: ['swap-address', good.address, bad.address, scene.token], happened: () => bad.heard(scene.token) }
    },
  },
  {
    name: "a server for everybody, with loopback: 'host'",
    needs: 'a network interface',
    sandbox: { loopback: 'host' },
    ownRoot: true,
    async stage(scene) {
      const port = await freePort()
      const answer = answered(port, scene.token)
      return { run: ['serve', `0.0.0.0:${port}`, scene.token, SERVED_MS], happened: () => answer }
    },
  },
]

/** Sockets that have a name of their own, and no address. */
function unixSockets(): Attack[] {
  const path = (scene: Scene): string => join(scene.outside, 's')
  const to = (name: string, attack: string, numbers: [number, number, number], where: (scene: Scene) => string): Attack => ({
    name,
    async stage(scene) {
      const [, kind] = numbers
      const listener = kind === TCP[1] ? await scene.unix(where(scene)) : await scene.raw(numbers, where(scene))
      return { run: [attack, listener.address, scene.token], happened: () => listener.heard(scene.token) }
    },
  })
  return [
    to('a unix socket outside', 'unix-stream', [1, 1, 0], path),
    to('a unix socket of datagrams outside', 'unix-datagram', [1, 2, 0], path),
    to('a unix socket of packets outside', 'unix-seqpacket', [1, 5, 0], path),
    to('a unix socket of the host in the root', 'unix-stream', [1, 1, 0], (scene) => join(scene.inside, 's')),
    to('an abstract socket', 'abstract-stream', [1, 1, 0], (scene) => `@${scene.token}`),
    to('an abstract socket of datagrams', 'abstract-datagram', [1, 2, 0], (scene) => `@${scene.token}`),
  ]
}
