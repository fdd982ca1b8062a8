import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'

const SSHD = '/usr/sbin/sshd'
export const hasSshd = existsSync(SSHD)

/** OpenSSH's server on the loopback interface, with host keys and users' keys of its own. */
export class SshHost {
  readonly folder = mkdtempSync(join(tmpdir(), 'ssh-host-'))
  readonly user = userInfo().username
  port = 0
  #server: ReturnType<typeof spawn> | undefined

  /** Keys of these kinds log in. */
  static ofSuite(kinds: readonly string[] = ['ed25519', 'ecdsa']): SshHost {
    const host = new SshHost()
    beforeAll(() => host.#open(kinds))
    afterAll(() => void host.#server?.kill())
    return host
  }

  /** A private key: its text. */
  key(kind = 'ed25519'): string {
    return readFileSync(join(this.folder, kind), 'utf8')
  }

  publicKey(kind = 'ed25519'): string {
    return readFileSync(join(this.folder, `${kind}.pub`), 'utf8')
  }

  /** The lines of its host keys under a name. */
  knownAs(name: string): string {
    return ['host', 'host-rsa', 'host-ecdsa'].map((file) => `${name} ${this.publicKey(file)}`).join('')
  }

  /** What the server has said, such as who has logged in. */
  get log(): string {
    return readFileSync(join(this.folder, 'log'), 'utf8')
  }

  makeKey(name: string, kind: string, bits = kind === 'rsa' ? 2048 : 256): void {
    execFileSync('ssh-keygen', ['-q', '-t', kind, '-b', String(bits), '-N', '', '-C', 'test', '-f', join(this.folder, name)])
  }

  async #open(kinds: readonly string[]): Promise<void> {
    for (const kind of kinds) this.makeKey(kind, kind)
    this.makeKey('host', 'ed25519')
    this.makeKey('host-rsa', 'rsa')
    this.makeKey('host-ecdsa', 'ecdsa')
    writeFileSync(join(this.folder, 'authorized'), kinds.map((kind) => this.publicKey(kind)).join(''))
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    this.port = (taken.address() as AddressInfo).port
    await new Promise((resolve) => taken.close(resolve))
    writeFileSync(
      join(this.folder, 'config'),
      `Port ${this.port}
ListenAddress 127.0.0.1
HostKey ${join(this.folder, 'host')}
HostKey ${join(this.folder, 'host-rsa')}
HostKey ${join(this.folder, 'host-ecdsa')}
AuthorizedKeysFile ${join(this.folder, 'authorized')}
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
AllowAgentForwarding yes
LogLevel VERBOSE
`,
    )
    // The server's own requirement.
    if (this.user === 'root') mkdirSync('/run/sshd', { recursive: true })
    this.#server = spawn(SSHD, ['-D', '-f', join(this.folder, 'config'), '-E', join(this.folder, 'log')], { stdio: 'ignore' })
    for (let attempt = 0; attempt < 200; attempt += 1) {
      if (existsSync(join(this.folder, 'log')) && this.log.includes('Server listening')) return
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    throw new Error('sshd did not begin to listen')
  }
}
