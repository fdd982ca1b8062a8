import { compileManifest, createSession, type AgentDefinition } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'

const good: AgentDefinition = {
  name: 'good',
  requires: { fs: { read: ['{workspace}/src/**'] } },
  permissions: [{ permission: 'read', pattern: '**', action: 'allow' }],
}

describe('R12 a misspelt agent is the author’s to read, when the session is opened and when the manifest is compiled', () => {
  test.each<[string, object, string, string]>([
    [
      'a variable in requires',
      { requires: { fs: { read: ['{wrkspace}/**'] } } },
      'CONTRACT_MANIFEST_INVALID',
      'manifest.agents[1].requires',
    ],
    [
      'a variable in its ceiling',
      { ceiling: { fs: { write: ['a', '{wrkspace}/**'] } } },
      'CONTRACT_MANIFEST_INVALID',
      'manifest.agents[1].ceiling',
    ],
    ['a host', { requires: { net: { hosts: ['a.*.com'] } } }, 'CONTRACT_MANIFEST_INVALID', 'net.hosts[0]'],
    [
      'the host of its ceiling',
      { ceiling: { net: { hosts: ['http://a.com'] } } },
      'CONTRACT_MANIFEST_INVALID',
      'manifest.agents[1].ceiling',
    ],
    [
      'a pattern of a rule',
      { permissions: [...(good.permissions ?? []), { permission: 'read', pattern: '[', action: 'deny' }] },
      'CONTRACT_RULE_INVALID',
      'manifest.agents[1].permissions[1]',
    ],
    [
      'a variable of a rule',
      { permissions: [{ permission: '*', pattern: '{wrkspace}/**' }] },
      'CONTRACT_RULE_INVALID',
      'manifest.agents[1].permissions[0]',
    ],
    [
      'an action',
      { permissions: [{ permission: 'read', pattern: '**', action: 'alow' }] },
      'INVALID_INPUT',
      'manifest.agents[1].permissions[0].action',
    ],
    ['a rule without permission', { permissions: [{ pattern: '**' }] }, 'INVALID_INPUT', 'manifest.agents[1].permissions[0].permission'],
    ['a field of its ceiling', { ceiling: { files: {} } }, 'INVALID_INPUT', 'ceiling.files'],
    ['its workspace', { workspace: ['nowhere/at/all/../../../..'] }, 'CONTRACT_MANIFEST_INVALID', 'manifest.agents[1].workspace[0]'],
  ])('%s', async (_what, wrong, code, place) => {
    const fixture = makeSandbox()
    const agents = [good, { name: 'bad', ...wrong } as AgentDefinition]
    const expected = { code, message: expect.stringContaining(place) }
    await expect(createSession({ workspace: fixture.root, manifest: { name: 'x', agents } })).rejects.toMatchObject(expected)
    await expect(compileManifest({ name: 'x', agents }, { workspace: [fixture.root], adHoc: [] })).rejects.toMatchObject(expected)
  })

  test('what means something is taken', async () => {
    const fixture = makeSandbox()
    await using session = await createSession({ workspace: fixture.root, manifest: { name: 'x', agents: [good] } })
    expect(session.warnings).toEqual([])
    expect(await compileManifest({ name: 'x', agents: [good] }, { workspace: [], adHoc: [] })).toMatchObject({ name: 'x' })
  })
})
