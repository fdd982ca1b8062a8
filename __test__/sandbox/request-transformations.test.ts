// docs/sandbox.md, "Harnesses": policies of hosts, and headers that requests get outside of the sandbox
import type { HarnessV1NetworkSandboxSession } from '@ai-sdk/harness'
import type { SandboxHosts } from 'toolwright'
import { createNetworkSandboxSession, type NetworkPolicy, type RequestTransformation } from 'toolwright/sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isHeld } from '../confinement/asking-host.ts'
import { CANARY, CANARY_FORMS, CredentialHost } from '../support/credential-host.ts'
import { makeSandbox } from '../support/sandbox.ts'

describe.skipIf(!isHeld)('the network of a harness', { timeout: 120_000 }, () => {
  const host = CredentialHost.ofSuite()

  function scene(network: Partial<SandboxHosts> = {}) {
    host.visits.length = 0
    const { root: rootDir, put } = makeSandbox()
    put('ca.pem', host.ca)
    const session = createNetworkSandboxSession({ rootDir, sandbox: { network: host.network([], { allow: [], ...network }) } })
    onTestFinished(() => session.destroy())
    const sh = async (command: string): Promise<string> => {
      const { stdout, stderr } = await session.run({ command })
      for (const form of CANARY_FORMS) expect(`${stdout}${stderr}`).not.toContain(form)
      return `${stdout}${stderr}`
    }
    return { session, sh, rootDir }
  }

  const set = (match: Partial<RequestTransformation['match']>, headers: Record<string, string>): RequestTransformation => ({
    match: { host: 'api.cred.test', ...match },
    transform: { headers },
  })

  test('a policy of hosts is held, and changes', async () => {
    const { session, sh } = scene()
    const reach = (name: string): Promise<string> => sh(`curl -sS --cacert ca.pem https://${name}.cred.test/ 2>&1`)
    await session.setNetworkPolicy({ mode: 'custom', allowedHosts: ['plain.cred.test'] })
    expect(await reach('plain')).toContain('"method":"GET"')
    expect(await reach('api')).toContain('resolve host')
    expect(session.description).toContain('only these hosts are reached: plain.cred.test')
    await session.setNetworkPolicy({ mode: 'custom', allowedHosts: ['*.cred.test'] })
    expect(await reach('api')).toContain('"method":"GET"')
    await session.setNetworkPolicy({ mode: 'deny-all' })
    expect(await reach('plain')).toContain('resolve host')
    // Where a name leads is looked at too.
    await session.setNetworkPolicy({ mode: 'custom', allowedHosts: ['*.cred.test'], deniedCIDRs: ['127.0.0.0/8'] })
    expect(await reach('plain')).not.toContain('"method":"GET"')
  })

  test.each([
    [{ mode: 'custom' }, /names allowedHosts/u],
    [{ mode: 'custom', allowedHosts: ['https://x'] }, /allow\[0\]/u],
    [{ mode: 'custom', allowedCIDRs: ['10.0.0.0/4'] }, /blocks of IPv4/u],
    [{ mode: 'custom', allowedCIDRs: ['2001:db8::/32'] }, /blocks of IPv4/u],
    [{ mode: 'custom', allowedHosts: ['a.test'], more: true }, /more/u],
    [{ mode: 'some' }, /'custom'/u],
  ])('the policy %j is a typed error, and changes nothing', async (policy, told) => {
    const { session } = scene({ allow: ['plain.cred.test'] })
    const error = await session.setNetworkPolicy(policy as NetworkPolicy).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'INVALID_INPUT', message: expect.stringMatching(told) })
    expect(session.description).toContain('plain.cred.test')
  })

  test('blocks of addresses are patterns', async () => {
    const { session } = scene()
    const shown: [string, RegExp][] = [
      ['192.0.2.7', /reached: 192\.0\.2\.7\. /u],
      ['192.0.2.0/24', /reached: 192\.0\.2\.\*\. /u],
      ['10.0.0.0/15', /reached: 10\.0\.\*, 10\.1\.\*\. /u],
      ['192.0.2.4/31', /reached: 192\.0\.2\.4, 192\.0\.2\.5\. /u],
      ['2001:db8::1', /reached: \[2001:db8::1\]\. /u],
    ]
    for (const [block, expected] of shown) {
      // eslint-disable-next-line no-await-in-loop -- one after the other
      await session.setNetworkPolicy({ mode: 'custom', allowedCIDRs: [block] })
      expect(session.description).toMatch(expected)
    }
  })

  test('a request that fits gets the header, and a command never sees it', async () => {
    const { session, sh } = scene()
    await session.setNetworkPolicy({ mode: 'custom', allowedHosts: ['*.cred.test'] })
    await session.setRequestTransformations?.([
      set(
        { headers: [{ key: { exact: 'authorization' }, value: { exact: 'Bearer placeholder' } }] },
        { authorization: `Bearer ${CANARY}` },
      ),
    ])
    const output = await sh('curl -sS -H "Authorization: Bearer placeholder" https://api.cred.test/; curl -sS https://api.cred.test/; env')
    expect(host.visits.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${CANARY}`, undefined])
    expect(output).toContain('"method":"GET"')
    await session.addRequestTransformations?.([
      set(
        { path: { startsWith: '/v1/' }, method: ['POST'], queryString: [{ key: { exact: 'a' }, value: { regex: '^[0-9]+$' } }] },
        { 'X-Api-Key': CANARY },
      ),
    ])
    await sh(
      'curl -sS -X POST "https://api.cred.test/v1/x?a=1"; curl -sS -X POST "https://api.cred.test/v1/x?a=b"; curl -sS -H "authorization: Bearer placeholder" https://api.cred.test/',
    )
    expect(host.visits.slice(2).map(({ headers }) => headers['x-api-key'] ?? headers.authorization)).toEqual([
      CANARY,
      undefined,
      `Bearer ${CANARY}`,
    ])
    await session.setRequestTransformations?.([])
    await sh('curl -sS --cacert ca.pem -H "authorization: Bearer placeholder" https://api.cred.test/')
    expect(host.last.headers.authorization).toBe('Bearer placeholder')
  })

  test('what cannot be meant is a typed error without its value', async () => {
    const { session, sh } = scene({ allow: ['api.cred.test'] })
    for (const wrong of [
      [{ match: {}, transform: { headers: { a: CANARY } } }],
      [set({ path: { exact: '/', regex: '.' } as never }, { a: CANARY })],
      [set({}, {})],
      [set({}, { a: 1 as never })],
      'none',
    ]) {
      const error = await session.addRequestTransformations?.(wrong as RequestTransformation[]).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'INVALID_INPUT' })
      expect(String(error)).not.toContain('CANARY')
    }
    for (const wrong of [
      set({ path: { regex: '(' } }, { a: CANARY }),
      set({}, { host: CANARY }),
      set({ host: '10.0.0.1' }, { a: CANARY }),
    ]) {
      await session.setRequestTransformations?.([wrong])
      await expect(sh('true')).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining('requestTransformations[0]'),
      })
    }
  })

  test('it is the interface of the AI SDK, and the reduced session has none of it', () => {
    const { session } = scene()
    const theirs: Pick<HarnessV1NetworkSandboxSession, 'setNetworkPolicy' | 'setRequestTransformations' | 'addRequestTransformations'> =
      session
    expect(Object.keys(theirs)).toEqual(
      expect.arrayContaining(['setNetworkPolicy', 'setRequestTransformations', 'addRequestTransformations']),
    )
    const restricted = session.restricted()
    for (const name of ['setNetworkPolicy', 'setRequestTransformations', 'addRequestTransformations'])
      expect(name in restricted).toBe(false)
  })
})
