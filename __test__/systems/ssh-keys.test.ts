// docs/guides/credentials.md, "SSH": commands log in with a key that they never see, to its hosts alone
import { execFileSync } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTools, type SandboxHosts, type SandboxSshKey } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { isHeld, scriptsOf } from '../confinement/asking-host.ts'
import { noteConnections } from '../support/connections.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { hasSshd, SshHost } from '../support/ssh-host.ts'

const NAME = 'git.ssh.test'
const OTHER = 'other.ssh.test'

/** Speaks with the agent as bytes: arguments are messages in hexadecimal digits. Prints the first byte of each answer. */
const CLIENT = `import os, socket, struct, sys
s = socket.socket(socket.AF_UNIX); s.settimeout(20); s.connect(os.environ['SSH_AUTH_SOCK'])
def read(n):
  b = b''
  while len(b) < n:
    p = s.recv(n - len(b))
    if not p: raise EOFError
    b += p
  return b
for word in sys.argv[1:]:
  m = bytes.fromhex(word)
  try:
    s.sendall(struct.pack('>I', len(m)) + m)
    print(read(struct.unpack('>I', read(4))[0])[0])
  except (EOFError, OSError): print('closed'); break
`

describe.skipIf(!isHeld || !hasSshd)('keys of SSH hosts', { timeout: 180_000 }, () => {
  const host = SshHost.ofSuite(['ed25519', 'ecdsa', 'rsa'])
  const strange = SshHost.ofSuite(['ed25519'])

  function commands(keys: SandboxSshKey[] | undefined, more: Partial<SandboxHosts> = {}) {
    const fixture = makeSandbox()
    const addresses = { [NAME]: `127.0.0.1:${host.port}`, [OTHER]: `127.0.0.1:${strange.port}` }
    const network: SandboxHosts = { allow: [NAME, OTHER], addresses, ...(keys && { sshKeys: keys }), ...more }
    const env = { allow: [], set: { PATH: process.env['PATH'] ?? '', HOME: fixture.root } }
    const { bash } = createTools({ rootDir: fixture.root, env, toolTimeoutMs: 150_000, sandbox: { network } })
    return { ...fixture, ...scriptsOf(bash) }
  }
  const own = (more: Partial<SandboxSshKey> = {}): SandboxSshKey => ({
    privateKey: host.key(),
    hosts: [NAME],
    knownHosts: host.knownAs(NAME),
    ...more,
  })
  const login = (to = NAME, options = ''): string => `\${GIT_SSH_COMMAND:-ssh} -o BatchMode=yes ${options} ${host.user}@${to}`

  test('git clones and pushes', async () => {
    const connections = noteConnections()
    const { sh, outside } = commands([own()])
    execFileSync('git', ['init', '-q', '--bare', '-b', 'main', join(outside, 'site.git')])
    const output = await sh(`set -e
git config --global user.name x; git config --global user.email x@y.z
git clone -q ssh://${host.user}@${NAME}${join(outside, 'site.git')} site 2>&1
cd site; echo text >file; git add file; git commit -qm first; git push -q origin HEAD:main 2>&1; git ls-remote origin; ssh-add -L`)
    expect(output).toContain('refs/heads/main')
    expect(output).toContain(host.publicKey().split(' ')[1])
    expect(execFileSync('git', ['-C', join(outside, 'site.git'), 'log', '--format=%s', 'main'], { encoding: 'utf8' })).toBe('first\n')
    const uses = connections.filter((one) => one.host === NAME).flatMap(({ requests = [] }) => requests)
    expect(uses).toEqual([expect.objectContaining({ credential: 'SSH_AUTH_SOCK', method: 'SIGN', path: host.user, count: 3 })])
  })

  test.each(['ed25519', 'ecdsa', 'rsa'])('a key of kind %s that a function gives', async (kind) => {
    let asked = 0
    const privateKey = async (): Promise<string> => {
      asked += 1
      return host.key(kind)
    }
    const { sh } = commands([own({ privateKey })])
    expect(await sh('echo nothing')).toBe('nothing\n')
    expect(asked).toBe(0)
    expect(await sh(`${login()} echo here; ${login()} echo again`)).toBe('here\nagain\n')
    expect(asked).toBe(1)
  })

  test.each([2048, 3072, 4096])('an RSA key of %i bits, by both of its signatures', async (bits) => {
    host.makeKey(`rsa-${bits}`, 'rsa', bits)
    appendFileSync(join(host.folder, 'authorized'), host.publicKey(`rsa-${bits}`))
    const { sh } = commands([own({ privateKey: host.key(`rsa-${bits}`) })])
    for (const how of ['rsa-sha2-256', 'rsa-sha2-512']) {
      expect(await sh(`${login(NAME, `-o PubkeyAcceptedAlgorithms=${how}`)} echo ${how}`)).toBe(`${how}\n`)
    }
  })

  test('hosts with keys of every kind', async () => {
    const { sh } = commands([own()])
    for (const kind of ['ssh-ed25519', 'rsa-sha2-512', 'rsa-sha2-256', 'ecdsa-sha2-nistp256']) {
      expect(await sh(`${login(NAME, `-o HostKeyAlgorithms=${kind}`)} echo ${kind}`)).toBe(`${kind}\n`)
    }
  })

  test('nothing of the key is where a command looks', async () => {
    const { sh } = commands([own()])
    const secret = host.key().split('\n')[2] as string
    const output = await sh(
      `env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; grep -rla '${secret.slice(0, 30)}' . /tmp /dev/toolwright-trust 2>/dev/null; ls -la /dev/toolwright-trust; cat /dev/toolwright-trust/known_hosts`,
    )
    expect(output).not.toContain(secret)
    expect(output).toContain(`${NAME} ssh-ed25519`)
    expect(output).not.toContain('./')
  })

  test('it does not log in elsewhere', async () => {
    // The strange server would take the key.
    execFileSync('cp', [join(host.folder, 'authorized'), join(strange.folder, 'authorized')])
    const { refused } = commands([own()])
    const { message, details } = await refused(`${login(OTHER, '-o StrictHostKeyChecking=no')} echo in`)
    expect(message).not.toContain('in\n')
    expect(message).toContain('Permission denied')
    expect(details['denials']).toContainEqual({
      layer: 'network',
      subject: 'a signature with an SSH key',
      option: 'sandbox.network.sshKeys',
    })
    expect(strange.log).not.toContain('Accepted publickey')
  })

  test('a forwarded agent signs nothing', async () => {
    const { sh } = commands([own()])
    const output = await sh(`${login(NAME, '-A')} '
ssh-add -l; ssh-keygen -q -t ed25519 -N "" -f /tmp/none-$$ >/dev/null; ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -p ${host.port} 127.0.0.1 echo far 2>&1; rm -f /tmp/none-$$*; echo ended' 2>&1`)
    expect(output).toContain('ended')
    expect(output).not.toContain('far\n')
  })

  test('other data is not signed', async () => {
    const { sh, put } = commands([own()])
    put('key.pub', host.publicKey())
    put('text', 'text\n')
    const output = await sh('ssh-keygen -Y sign -f key.pub -n file text 2>&1; ls text.sig 2>&1; echo ended')
    expect(output).toContain('agent refused operation')
    expect(output).toContain("'text.sig': No such file")
  })

  test('adding, locking and removing keys, and what is no message, is refused', async () => {
    const { sh, put } = commands([own()])
    put('client.py', CLIENT)
    const add = `11${'00'.repeat(40)}`
    const output = await sh(`python3 client.py 0b 0d ${add} 13 16 17 1b 1b0000000571756572 ff 0bff 0dffffffff 0d00000000ffffffff 0b`)
    expect(output.trimEnd().split('\n')).toEqual(['12', ...Array.from({ length: 11 }, () => '5'), '12'])
    expect(await sh(`ssh-keygen -q -t ed25519 -N '' -f own; ssh-add own 2>&1; ssh-add -D 2>&1; ssh-add -l | wc -l`)).toMatch(/1\n$/u)
  })

  test('a huge message ends the connection, and thousand requests at once the others do not', async () => {
    const { sh, put } = commands([own()])
    put(
      'many.py',
      `import os, socket, struct, threading
path = os.environ['SSH_AUTH_SOCK']
s = socket.socket(socket.AF_UNIX); s.connect(path); s.sendall(struct.pack('>I', 1 << 30) + b'x' * 100)
s.settimeout(20)
try: print('huge', s.recv(1))
except OSError: print('huge', b'')
answered = []
def ask():
  try:
    s = socket.socket(socket.AF_UNIX); s.settimeout(60); s.connect(path)
    for _ in range(20):
      s.sendall(b'\\0\\0\\0\\1\\x0b')
      n = struct.unpack('>I', s.recv(4))[0]
      while n > 0: n -= len(s.recv(n))
    answered.append(1)
  except (OSError, struct.error): pass
threads = [threading.Thread(target=ask) for _ in range(50)]
for t in threads: t.start()
for t in threads: t.join()
print('answered', len(answered))
`,
    )
    const output = await sh(`python3 many.py; ${login()} echo still`)
    expect(output).toBe(`huge b''\nanswered 50\nstill\n`)
  })

  test('without keys there is no agent, and none of the host', async () => {
    const { sh } = commands(undefined)
    const output = await sh(`echo "\${SSH_AUTH_SOCK:-none}"; SSH_AUTH_SOCK=/dev/toolwright-ssh-agent ssh-add -l 2>&1; true`)
    expect(output).toMatch(/^none\n.*(?:No such file|Error connecting|not open a connection)/su)
  })

  test('a key that cannot be meant is refused, and no message has it', async () => {
    const secret = host.key().split('\n')[2] as string
    host.makeKey('small', 'rsa', 1024)
    const wrong: [Partial<SandboxSshKey>, string][] = [
      [{ privateKey: host.key('small') }, 'privateKey: it is no RSA key of 2048 to 4096 bits'],
      [{ privateKey: `${host.key().slice(0, 120)}\n-----END OPENSSH PRIVATE KEY-----` }, 'privateKey: its'],
      [{ knownHosts: host.knownAs(OTHER) }, `knownHosts: it has no key of ${NAME}`],
      [{ knownHosts: '|1|abc= ssh-ed25519 AAAA' }, 'knownHosts: line 1'],
      [{ hosts: ['*'] }, 'hosts: `*` is no host'],
      [{ hosts: [] }, 'hosts: name at least one host'],
    ]
    for (const [more, problem] of wrong) {
      const error = await commands([own(more)]).refused('true')
      expect(error.code).toBe('INVALID_INPUT')
      expect(error.message).toContain(problem)
      expect(JSON.stringify(error)).not.toContain(secret)
    }
    expect(() => commands([own({ privateKey: 'text' })])).toThrow('privateKey')
  })
})
