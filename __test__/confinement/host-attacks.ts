/**
 * Ways around the hosts that a command may reach, as lines of Python. `VICTIM` is the port of servers of this machine, `HOST` an address of
 * it that is not loopback, `ABSTRACT` and `SOCKET` its unix sockets, and `old` a synthetic address of an earlier command. What gets
 * through calls `reached`.
 */
export const prelude = `
import ctypes, os, random, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def reached(what=''):
    print('reached', what, flush=True)
def sockaddr(host, port):
    return struct.pack('=H', socket.AF_INET) + struct.pack('!H', port) + socket.inet_aton(host) + bytes(8)
def raw_connect(s, address, length=None):
    if libc.connect(s.fileno(), address, len(address) if length is None else length) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def tcp(host, port, family=socket.AF_INET):
    s = socket.socket(family)
    s.settimeout(2)
    s.connect((host, port))
    reached(host)
def udp(host, port, family=socket.AF_INET):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.sendto(b'attack', (host, port))
def opened():
    return socket.create_connection(('echo.test', 80), 5)
def call(number, *args):
    result = libc.syscall(number, *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def resolver():
    return open('/etc/resolv.conf').read().split()[1]
def question(labels, kind=1):
    text = bytes([7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0])
    for label in labels:
        text += bytes([len(label)]) + label
    return text + bytes([0, 0, kind, 0, 1])
def ask(packet, seconds=10):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(seconds)
    s.sendto(packet, (resolver(), 53))
    answer = s.recv(2048)
    return answer[3] & 15, answer[7]
def answered(packet):
    code, count = ask(packet)
    if count > 0:
        reached('an answer')
def six(host, port, scope=0):
    s = socket.socket(socket.AF_INET6)
    s.settimeout(2)
    s.connect((host, port, 0, scope))
    reached(host)
print('trying', flush=True)
def attack():
`

/** Attacks by their names. Each line is one of the body of `attack`. */
export const attacks: Record<string, string> = {
  // Literal addresses.
  'a public address': "tcp('93.184.215.14', 80)",
  'an address of this machine': "tcp('HOST', VICTIM)",
  loopback: "tcp('127.0.0.1', VICTIM)",
  'another address of loopback': "tcp('127.1.2.3', VICTIM)",
  'the unspecified address': "tcp('0.0.0.0', VICTIM)",
  'loopback of IPv6': 'six("::1", VICTIM)',
  'the unspecified address of IPv6': 'six("::", VICTIM)',
  'loopback, mapped': "six('::ffff:127.0.0.1', VICTIM)",
  'an address of this machine, mapped': "six('::ffff:HOST', VICTIM)",
  'an address of this machine, compatible': "six('::HOST', VICTIM)",
  'an address of this machine behind a translator': "six('64:ff9b::HOST', VICTIM)",
  'an address of this machine in 6to4':
    "six('2002:' + socket.inet_aton('HOST').hex()[:4] + ':' + socket.inet_aton('HOST').hex()[4:] + '::1', VICTIM)",
  'a link-local address with a zone': "six('fe80::1', VICTIM, 1)",
  'loopback with a zone': "six('::1', VICTIM, 2)",
  'the metadata of a cloud': "tcp('169.254.169.254', 80)",
  'the metadata of a cloud over IPv6': "six('fd00:ec2::254', 80)",
  'a private network': "tcp('10.0.0.1', 80)",
  'an address as one number': "tcp('2130706433', VICTIM)",
  'an address in hexadecimal': "tcp('0x7f.1', VICTIM)",
  'everybody on this network': "tcp('255.255.255.255', VICTIM)",
  'a group of receivers': "tcp('224.0.0.1', VICTIM)",
  // Synthetic addresses.
  'a synthetic address that was never given out': "tcp('198.18.77.7', 80)",
  'the neighbour of one that was': "socket.gethostbyname('echo.test')\n    tcp('198.18.0.3', 80)",
  'the address of the interface': "tcp('198.18.0.1', 80)",
  'the address of an earlier command': "tcp('OLD', 80)",
  'another port of an allowed host': "tcp(socket.gethostbyname('echo.test'), 81)",
  'the same in the form of IPv6': "six('::ffff:' + socket.gethostbyname('echo.test'), 81)",
  'a datagram to an allowed host (QUIC)': "udp(socket.gethostbyname('echo.test'), 443)\n    udp(socket.gethostbyname('echo.test'), 80)",
  // Names.
  'a name that leads to loopback': "answered(question([b'localhost']))",
  'the name of this machine': 'answered(question(["NAME".encode()]))',
  'a name that is denied': "tcp('secret.echo.test', 80)",
  'the same in capitals, with a dot': "tcp('SECRET.Echo.test.', 80)",
  'a name below none that is allowed': "tcp('echo.test.other.invalid', 80)",
  'a name that is too long': "answered(question([b'a' * 60] * 5 + [b'test']))",
  'a label that is too long': "answered(bytes([7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 64]) + b'a' * 64 + bytes([0, 0, 1, 0, 1]))",
  'a name that refers to itself': 'answered(bytes([7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xC0, 12, 0, 1, 0, 1]))',
  'two questions in one': "answered(question([b'echo', b'test'])[:5] + bytes([2]) + question([b'echo', b'test'])[6:])",
  'other kinds of records':
    "[answered(question([b'echo', b'test'], kind)) for kind in (0, 2, 5, 6, 10, 12, 15, 16, 28, 33, 35, 64, 65, 251, 252, 255)]",
  'a transfer of data in many names':
    "said = [ask(question([b'%05d' % n + b'x' * 50, b'leak', b'invalid'], 16))[0] for n in range(1200)]\n    if said.count(2) < 300: reached(said.count(2))",
  'nonsense in great numbers':
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n    for n in range(5000): s.sendto(random.randbytes(n % 600), (resolver(), 53))\n    answered(question([b'secret', b'echo', b'test']))",
  // Other resolvers.
  'a resolver of the internet': "udp('8.8.8.8', 53)",
  'the same over TCP': "tcp('8.8.8.8', 53)",
  'the same encrypted': "tcp('1.1.1.1', 853)",
  'another port of the own resolver': 'udp(resolver(), 5353)\n    tcp(resolver(), 53)',
  'datagrams to this machine': "udp('HOST', VICTIM)",
  'datagrams to loopback': "udp('127.0.0.1', VICTIM)",
  'datagrams over IPv6': "udp('::1', VICTIM, socket.AF_INET6)",
  'a datagram socket that is connected':
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n    s.connect(('HOST', VICTIM))\n    s.send(b'attack')",
  // Calls that send without a connection.
  'fast open': "s = socket.socket()\n    s.sendto(b'attack', 0x20000000, ('HOST', VICTIM))\n    reached()",
  'fast open by an option': 's = socket.socket()\n    s.setsockopt(6, 30, 1)\n    reached()',
  'sendmsg with an address': "s = socket.socket()\n    s.sendmsg([b'attack'], [], 0, ('HOST', VICTIM))\n    reached()",
  'sendmsg of a datagram': "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n    s.sendmsg([b'attack'], [], 0, ('HOST', VICTIM))",
  sendmmsg:
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n    name = ctypes.create_string_buffer(sockaddr('HOST', VICTIM), 16)\n    text = ctypes.create_string_buffer(b'attack')\n    vector = ctypes.create_string_buffer(struct.pack('PL', ctypes.addressof(text), 6))\n    message = ctypes.create_string_buffer(struct.pack('PI4xPLPLi4xI4x', ctypes.addressof(name), 16, ctypes.addressof(vector), 1, 0, 0, 0, 0))\n    if libc.sendmmsg(s.fileno(), message, 1, 0) == 1: pass\n    else: raise OSError(ctypes.get_errno(), '')",
  io_uring: 'call(425, 8, ctypes.create_string_buffer(256))\n    reached()',
  // Other kinds of sockets.
  'a packet socket': 'socket.socket(17, socket.SOCK_RAW, 3)\n    reached()',
  'a raw socket': 'socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\n    reached()',
  'a ping':
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1)\n    s.sendto(bytes([8, 0, 0, 0, 0, 0, 0, 0]), ('HOST', 0))\n    s.settimeout(1)\n    s.recv(100)\n    reached()",
  'reports of sockets': 's = socket.socket(16, socket.SOCK_RAW, 4)\n    reached()',
  'a route':
    "s = socket.socket(16, socket.SOCK_RAW, 0)\n    s.bind((0, 0))\n    s.send(struct.pack('=IHHII', 28, 24, 0x605, 1, 0) + bytes(12))\n    code = struct.unpack('=i', s.recv(4096)[16:20])[0]\n    if code == 0: reached()",
  'a socket of the hypervisor': 'socket.socket(40, socket.SOCK_STREAM)\n    reached()',
  MPTCP: "s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)\n    s.connect(('HOST', VICTIM))\n    reached()",
  SCTP: "s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)\n    s.connect(('HOST', VICTIM))\n    reached()",
  'UDP-Lite': "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136)\n    s.sendto(b'attack', ('HOST', VICTIM))",
  'an abstract unix socket': "s = socket.socket(socket.AF_UNIX)\n    s.connect('\\0ABSTRACT')\n    reached()",
  'a unix socket in the root': "s = socket.socket(socket.AF_UNIX)\n    s.connect('SOCKET')\n    reached()",
  // Sockets of the host's network.
  'a socket of the host that connects again': "s = opened()\n    s.connect(('HOST', VICTIM))\n    reached()",
  'one that is dissolved first':
    "s = opened()\n    libc.connect(s.fileno(), bytes(16), 16)\n    s.connect(('HOST', VICTIM))\n    reached()",
  'one that is shut first': "s = opened()\n    s.shutdown(2)\n    s.connect(('HOST', VICTIM))\n    reached()",
  'one that sends elsewhere': "s = opened()\n    s.sendto(b'attack', ('HOST', VICTIM))\n    raise OSError('the address is not used')",
  'one that listens': 'libc.listen(opened().fileno(), 5) == 0 and reached()\n    raise OSError()',
  'one that is bound': "opened().bind(('0.0.0.0', 0))\n    reached()",
  'one that takes another device': "opened().setsockopt(1, 25, b'lo')\n    reached()",
  'one that takes another route': 'opened().setsockopt(0, 4, bytes([1, 131, 7, 4, 192, 0, 2, 1]))\n    reached()',
  'one that is marked': 'opened().setsockopt(1, 36, 1)\n    reached()',
  'one that is repaired': 'opened().setsockopt(6, 19, 1)\n    reached()',
  'one that begins fast open': "opened().sendto(b'attack', 0x20000000, ('HOST', VICTIM))\n    raise OSError('the address is not used')",
  // The broker.
  'an address that changes while it is read':
    "end = time.monotonic() + 1.5\n    good, bad = sockaddr(socket.gethostbyname('echo.test'), 80), sockaddr('HOST', VICTIM)\n    shared = ctypes.create_string_buffer(good, 16)\n    def flip():\n        while time.monotonic() < end:\n            ctypes.memmove(shared, bad, 16)\n            ctypes.memmove(shared, good, 16)\n    threads = [threading.Thread(target=flip) for _ in range(2)]\n    [thread.start() for thread in threads]\n    while time.monotonic() < end:\n        s = socket.socket()\n        libc.connect(s.fileno(), shared, 16)\n        s.close()\n    [thread.join() for thread in threads]",
  'a descriptor that is exchanged meanwhile':
    "end = time.monotonic() + 1.5\n    address = socket.gethostbyname('echo.test')\n    number = socket.socket().detach()\n    def exchange():\n        while time.monotonic() < end:\n            host = socket.socket()\n            host.setblocking(False)\n            libc.connect(host.fileno(), sockaddr(address, 80), 16)\n            own = socket.socket()\n            for one in (host, own):\n                if one.fileno() != number: os.dup2(one.fileno(), number)\n    thread = threading.Thread(target=exchange)\n    thread.start()\n    while time.monotonic() < end:\n        if libc.connect(number, sockaddr('HOST', VICTIM), 16) == 0 or libc.connect(number, sockaddr('127.0.0.1', VICTIM), 16) == 0: reached()\n    thread.join()",
  'a descriptor that is closed meanwhile':
    "end = time.monotonic() + 1\n    address = sockaddr(socket.gethostbyname('echo.test'), 80)\n    number = socket.socket().detach()\n    def close():\n        while time.monotonic() < end:\n            try: os.close(number)\n            except OSError: pass\n            s = socket.socket()\n            if s.fileno() == number: s.detach()\n    thread = threading.Thread(target=close)\n    thread.start()\n    while time.monotonic() < end: libc.connect(number, address, 16)\n    thread.join()",
  'an address of any length':
    "for length in [0, 1, 2, 7, 15, 17, 64, 127, 128, 129, 4096, 2**31 - 1, 2**32 - 1]:\n        s = socket.socket()\n        libc.connect(s.fileno(), ctypes.create_string_buffer(sockaddr('HOST', VICTIM), 4096), ctypes.c_uint(length))",
  'an address in no memory':
    'for place in [0, 1, 4096, 2**47 - 8, 2**63, 2**64 - 8]: libc.connect(socket.socket().fileno(), ctypes.c_void_p(place), 16)',
  'an address of IPv4 for a socket of IPv6': "raw_connect(socket.socket(socket.AF_INET6), sockaddr('HOST', VICTIM))\n    reached()",
  'connections in great numbers':
    "kept = []\n    for n in range(3000):\n        s = socket.socket()\n        s.setblocking(False)\n        libc.connect(s.fileno(), sockaddr('HOST', VICTIM), 16)\n        kept = kept[-200:] + [s]",
  'descriptors that are passed on':
    "a, b = socket.socketpair()\n    sent = socket.socket()\n    socket.send_fds(a, [b'x'], [sent.fileno()])\n    _, [got], _, _ = socket.recv_fds(b, 1, 1)\n    socket.socket(fileno=got).connect(('HOST', VICTIM))\n    reached()",
  'a process that connects for another':
    "s = socket.socket()\n    pid = os.fork()\n    if pid == 0:\n        try: s.connect(('HOST', VICTIM)); reached()\n        finally: os._exit(0)\n    os.waitpid(pid, 0)\n    raise OSError()",
  // Namespaces, and files that say where names lead.
  'the network of the first process': "fd = os.open('/proc/1/ns/net', 0)\n    call(308, fd, 0x40000000)\n    tcp('HOST', VICTIM)",
  'a network of its own': 'call(272, 0x10000000 | 0x40000000)\n    reached()',
  'a descriptor of the host': 'for number in range(64): call(438, call(434, os.getppid(), 0), number, 0) and reached()',
  'the file of names': "open('/etc/hosts', 'a').write('HOST echo.test')\n    reached()",
  'the file of resolvers': "open('/etc/resolv.conf', 'w').write('nameserver 8.8.8.8')\n    reached()",
}
