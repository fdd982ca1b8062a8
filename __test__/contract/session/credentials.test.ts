// docs/contract.md: a session whose commands use a token that they never see
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openJournal } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isHeld } from '../../confinement/asking-host.ts'
import { CANARY, CANARY_FORMS, CredentialHost } from '../../support/credential-host.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, dataOf, openScene } from '../scene.ts'

describe.skipIf(!isHeld)('credentials of a session', { timeout: 60_000 }, () => {
  const host = CredentialHost.ofSuite()

  test('a command has the placeholder, its envelope tells of requests, and the journal has no value', async () => {
    const network = host.network([
      { variable: 'GITHUB_TOKEN', hosts: ['api.cred.test'], value: async () => CANARY, send: 'bearer', only: [{ path: '/open' }] },
    ])
    const requires = {
      fs: { read: ['/**'], write: ['{workspace}/**'] },
      net: { hosts: ['api.cred.test'] },
      shell: [{ cmd: '*' }],
      capabilities: ['net.credential'],
    }
    const manifest = { name: 'credentials', permissions: allowAll, requires }
    const { outside } = makeSandbox()
    const journal = await openJournal(`file:${join(outside, 'calls.db')}`)
    onTestFinished(() => journal.close())
    const { call, session } = await openScene({ manifest, journal, sandbox: { network } } as never)
    const command = `curl -sS -H "Authorization: Bearer $GITHUB_TOKEN" https://api.cred.test/open https://api.cred.test/closed`
    const envelope = await call('bash', { command })
    const { stdout } = dataOf(envelope) as { stdout: string }
    expect(stdout).toContain('"url":"/open"')
    expect(stdout).toContain('GITHUB_TOKEN may be sent with any method /open only')
    expect(host.last.headers.authorization).toBe(`Bearer ${CANARY}`)
    const { connections, denials, notes } = envelope.metadata
    expect(connections?.[0]?.requests).toEqual([
      expect.objectContaining({ credential: 'GITHUB_TOKEN', method: 'GET', path: '/closed', refused: 'rule', count: 1 }),
      expect.objectContaining({ credential: 'GITHUB_TOKEN', method: 'GET', path: '/open', status: 200, count: 1 }),
    ])
    expect(denials).toContainEqual({ layer: 'network', subject: 'GET https://api.cred.test/closed', option: 'sandbox.network.credentials' })
    expect(notes?.join(' ')).toContain('no rule of the credential allows it')
    for (const form of CANARY_FORMS) expect(JSON.stringify(envelope)).not.toContain(form)
    expect(JSON.stringify(await journal.listRun(session.id))).toContain('"credential')
    const files = readdirSync(outside, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
    expect(files.join('')).toContain('api.cred.test')
    for (const form of CANARY_FORMS) expect(files.join('')).not.toContain(form)
  })

  test('a host that is not granted is not reached, whatever has a credential there', async () => {
    const network = host.network([{ variable: 'GITHUB_TOKEN', hosts: ['api.cred.test'], value: CANARY, send: 'bearer' }])
    const manifest = {
      name: 'credentials',
      permissions: allowAll,
      requires: { fs: { read: ['/**'] }, net: { hosts: ['plain.cred.test'] }, shell: [{ cmd: '*' }] },
    }
    const { call } = await openScene({ manifest, sandbox: { network } } as never)
    const envelope = await call('bash', { command: 'curl -sS -H "Authorization: Bearer $GITHUB_TOKEN" https://api.cred.test/ 2>&1' })
    expect(JSON.stringify(envelope)).toContain('net.hosts')
    expect(host.visits).toEqual([])
  })
})
