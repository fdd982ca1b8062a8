// docs/guides/credentials.md, "The value": who is asked, and when
import type { HostQuestion, SandboxCredential } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { isHeld } from '../../confinement/asking-host.ts'
import { CANARY, CredentialHost } from '../../support/credential-host.ts'

const authorized = '-H "Authorization: Bearer $TOKEN" https://api.cred.test/'

describe.skipIf(!isHeld)('the first use of a credential', { timeout: 60_000 }, () => {
  const host = CredentialHost.ofSuite()

  const asked: HostQuestion[] = []
  let values = 0
  const token: SandboxCredential = {
    variable: 'TOKEN',
    hosts: ['api.cred.test'],
    send: 'bearer',
    value: () => {
      values += 1
      return CANARY
    },
  }

  test('the user is asked about the host before anything of the value', async () => {
    let decision: 'allow_always' | 'reject_once' = 'reject_once'
    const onAsk = (question: HostQuestion) => {
      asked.push(question)
      return decision
    }
    const { sh, refused } = host.commands([token], { allow: [], ask: ['api.cred.test'], onAsk })
    await refused(`curl -sS ${authorized}`)
    expect([asked.length, values, host.visits.length]).toEqual([1, 0, 0])
    decision = 'allow_always'
    await sh(`curl -sS ${authorized}`)
    await sh(`curl -sS ${authorized}`)
    expect([asked.length, values, host.visits.length]).toEqual([2, 1, 2])
    expect(host.last.headers.authorization).toBe(`Bearer ${CANARY}`)
  })

  test('commands at the same time ask for the value once', async () => {
    let count = 0
    const value = async (): Promise<string> => {
      count += 1
      await new Promise((resolve) => setTimeout(resolve, 200))
      return CANARY
    }
    const { sh } = host.commands([{ ...token, value }])
    await Promise.all(Array.from({ length: 4 }, () => sh(`curl -sS ${authorized}`)))
    expect(count).toBe(1)
  })

  test('a command that ends while the value is asked for ends', async () => {
    const { sh, refused } = host.commands([{ ...token, value: () => new Promise<string>(() => undefined) }])
    const { message } = await refused(`curl -sS -m 1 ${authorized}`)
    expect(message).toContain('timed out')
    expect(await sh('echo next')).toBe('next\n')
  })

  test('credentials of one variable share the placeholder, and each has its hosts and header', async () => {
    const other = 'ghp_OTHERVALUE0123456789abcdefABCDEF0123'
    const { sh } = host.commands([
      { ...token, value: CANARY },
      { ...token, hosts: ['git.cred.test'], value: other, send: 'basic' },
    ])
    await sh(`curl -sS ${authorized}`)
    expect(host.last.headers.authorization).toBe(`Bearer ${CANARY}`)
    await sh('curl -sS -u "x:$TOKEN" https://git.cred.test/')
    expect(host.last.headers.authorization).toBe(`Basic ${Buffer.from(`x:${other}`).toString('base64')}`)
    await sh('curl -sS -H "Authorization: Bearer $TOKEN" https://git.cred.test/')
    expect(host.last.headers.authorization).toMatch(/^Bearer ghp_(?!CANARY|OTHER)/u)
  })

  test('a narrow read scope, and a process that goes on', async () => {
    const { sh } = host.commands([{ ...token, value: CANARY }], {}, { sandbox: { readScope: 'system' } })
    expect(await sh(`curl -sS ${authorized}`)).toContain('"method":"GET"')
    expect(
      await sh(`python3 -c "
import os, urllib.request
print(urllib.request.urlopen(urllib.request.Request('https://api.cred.test/', headers={'Authorization': 'Bearer ' + os.environ['TOKEN']})).status)" || true`),
    ).toMatch(/200|not found/u)
  })
})
