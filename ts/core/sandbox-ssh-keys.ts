/** SSH keys that commands log in with and never see: the option. */
import type * as Addon from '../../index.js'
import { type Check, type Checks, group, listOf, must, text } from './options.js'

/**
 * A key by which commands log in to SSH hosts. They have an agent (`SSH_AUTH_SOCK`) that signs logins to these hosts and nothing else,
 * and no key. A program has to say for which session it signs, as OpenSSH does from 8.9 on.
 */
export interface SandboxSshKey {
  /**
   * The private key in the form of OpenSSH, without a passphrase: ed25519, ecdsa-sha2-nistp256, ecdsa-sha2-nistp384, or RSA with 2,048 to
   * 4,096 bits. Or a function that gives it when a command first asks the agent.
   */
  privateKey: string | (() => string | PromiseLike<string>)
  /** The hosts that it is for: `git.example.com`, at port 22 or at another one (`git.example.com:2222`). It does not allow them. */
  hosts: readonly string[]
  /** The keys of these hosts, one a line as `ssh-keyscan` prints them. By these the agent knows a host, and so do commands. */
  knownHosts: string
}

const isKey = (value: unknown): boolean =>
  typeof value === 'function' || (typeof value === 'string' && value.startsWith('-----BEGIN OPENSSH PRIVATE KEY-----'))

const checks = {
  // The message of a wrong key does not have it.
  privateKey: must<SandboxSshKey['privateKey']>(isKey, 'a function, or a private key in the form of OpenSSH'),
  hosts: listOf(text, 'an array of hosts'),
  knownHosts: text,
} satisfies Checks<SandboxSshKey>

/** A copy of the option. @throws {ToolError} INVALID_INPUT */
export const sandboxSshKeys: Check<SandboxSshKey[]> = listOf(group(checks), 'an array of keys')

/** The option for the addon. */
export const sshKeyRequest = ({ privateKey, hosts, knownHosts }: SandboxSshKey): Addon.SandboxSshKey => ({
  ...(typeof privateKey === 'string' && { privateKey }),
  hosts: [...hosts],
  knownHosts,
})
