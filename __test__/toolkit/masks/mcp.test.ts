import { describe, expect, test } from 'vitest'
import { connectTo } from '../../mcp-server/mcp-client.ts'
import { runCli } from '../../support/run-cli.ts'
import { makeSandbox } from '../../support/sandbox.ts'

const VALUE = 'x7Gk29QmZp41-a8Kd93jfKq02'

async function printed(args: readonly string[]): Promise<string> {
  const { root, put } = makeSandbox()
  put('.env', `DEPLOY_TOKEN=${VALUE}\n`)
  const { client } = await connectTo(root, '2025', { args: ['--allow', 'bash', ...args], env: { DEPLOY_TOKEN: VALUE } })
  return JSON.stringify(await client.callTool({ name: 'bash', arguments: { command: 'cat .env' } }))
}

describe('Masks: the MCP server', () => {
  test('text and structured content are masked, with a note', async () => {
    const result = await printed([])
    expect(result).toContain('DEPLOY_TOKEN=[DEPLOY_TOKEN]')
    expect(result).toContain('[DEPLOY_TOKEN] stands for a secret that is masked here, in 1 place.')
    expect(result).not.toContain(VALUE)
  })

  test('--mask off masks nothing', async () => {
    expect(await printed(['--mask', 'off'])).toContain(VALUE)
  })

  test('another choice is refused', async () => {
    const { code, stderr } = await runCli(['mcp', '--mask', 'all'], { cwd: makeSandbox().root })
    expect([code, stderr]).toEqual([2, 'toolwright: mcp: --mask must be known, tokens or off, not "all"; see toolwright mcp --help\n'])
  })
})
