// docs/guides/credentials.md: programs that need no setting to use a token that they never see
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { isHeld } from '../../confinement/asking-host.ts'
import { CANARY, CANARY_FORMS, CredentialHost } from '../../support/credential-host.ts'
import { bearer, clients, has, installedNodes, PATH, servePages } from './clients.ts'

describe.skipIf(!isHeld)('clients of the host of a credential', { timeout: 180_000 }, () => {
  const host = CredentialHost.ofSuite()
  let installed = ''
  beforeAll(async () => {
    installed = await installedNodes()
  }, 600_000)
  beforeAll(() => servePages(host))

  test.each(Object.entries(clients))('%s', async (_, { program, version, send = bearer, script, expected = /the page/u }) => {
    if (!program.startsWith('node2') && !has(program, version)) return
    const { sh, root, put, outside } = host.commands(
      [{ variable: 'TOKEN', hosts: ['api.cred.test'], value: CANARY, send }],
      {},
      {
        env: {
          allow: [],
          set: { PATH, HOME: '/tmp', NODES: installed, RUSTUP: process.env['RUSTUP_HOME'] ?? join(process.env['HOME'] ?? '', '.rustup') },
        },
      },
    )
    mkdirSync(join(root, 'home'))
    const bare = join(outside, 'site.git')
    execFileSync('git', ['init', '-q', '--bare', '-b', 'main', bare])
    execFileSync('git', ['-C', bare, 'config', 'http.receivepack', 'true'])
    host.repository = outside
    put('script', `${script}\necho; env; grep -rla CANARY . 2>/dev/null; true`)
    // Nothing of the machine's environment, and what comes with the credential.
    const output = await sh(
      'exec env -i PATH="$PATH" HOME=$PWD/home RUSTUP_HOME="$RUSTUP" NODES="$NODES" TOKEN="$TOKEN" $(env | grep =/dev/toolwright-trust) bash script',
    )
    expect(output).toMatch(expected)
    for (const form of CANARY_FORMS) expect(output).not.toContain(form)
    expect(host.visits.some(({ headers }) => JSON.stringify(headers).includes('authorization'))).toBe(true)
  })
})
