import type { Rule, SessionOptions } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { openScene, rule, testTool } from '../scene.ts'

const warned = async (permissions: Rule[], more: Partial<SessionOptions> = {}): Promise<readonly string[]> =>
  (await openScene({ manifest: { name: 'test', permissions }, ...more })).session.warnings

describe('rules about nothing', () => {
  test('R36 a permission that is no tool and no capability is told, with its place and the nearest name', async () => {
    const warnings = await warned([rule('fs.read ** allow'), rule('fs.wriet ** deny')], {
      permissions: { session: [rule('wrte ** deny')], project: [rule('zzz ** deny')] },
    })
    expect(warnings).toEqual([
      expect.stringMatching(/^manifest\.permissions\[1\] is a rule about nothing: .*"fs\.wriet"\. Did you mean fs\.write\?$/u),
      expect.stringMatching(/^permissions\.session\[0\] .*"wrte"\. Did you mean write\?$/u),
      expect.stringMatching(/^permissions\.project\[0\] .*"zzz"\.$/u),
    ])
  })

  test('R36 tools, capabilities and what may be a tool of a server are known', async () => {
    const tools = [testTool('shoots', () => 1, { requires: { capabilities: ['camera'] } })]
    const permissions = [
      '*',
      'read',
      'fs.read',
      'fs.write',
      'shell.run',
      'net.fetch',
      'shoots',
      'camera',
      'mcp:my-server',
      'my_server_find',
      'microphone',
    ].map((permission) => rule(`${permission} * allow`))
    const mcpServers = { 'my-server': { command: 'none' } }
    const manifest = { name: 'test', permissions, mcpServers, requires: { capabilities: ['microphone'] } }
    expect((await openScene({ tools, manifest })).session.warnings).toEqual([])
  })

  test('R36 those of an agent are told with the session', async () => {
    const agents = [{ name: 'helper', permissions: [rule('bsh * deny')] }]
    const { session } = await openScene({ manifest: { name: 'test', agents } })
    expect(session.warnings).toEqual([expect.stringMatching(/^manifest\.agents\[0\]\.permissions\[0\] .*Did you mean bash\?$/u)])
  })

  test('R48 `headless: false` without a prompt is told: nobody is asked all the same', async () => {
    const { session } = await openScene({ headless: false })
    expect(session.headless).toBe(true)
    expect(session.warnings).toEqual([expect.stringContaining('host.prompt is missing')])
    const { session: attended } = await openScene({ headless: false, host: { prompt: () => ({ decision: 'reject_once' }) } })
    expect(attended.warnings).toEqual([])
  })
})
