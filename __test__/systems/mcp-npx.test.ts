import { mkdtempSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createSession } from 'toolwright/contract'
import { expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

const PACKAGE = '@modelcontextprotocol/server-filesystem@2026.8.31'

test('a server that npx fetches: refused without the network, fetched with it, and there without it afterwards', async () => {
  const fixture = makeSandbox()
  const home = mkdtempSync(join(homedir(), '.toolwright-npx-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const states = []
  for (const sandbox of [{}, { network: true, home }, { home }]) {
    const srv = { command: 'npx', args: ['-y', PACKAGE, fixture.root], timeout_ms: 120_000, sandbox }
    const session = await createSession({
      workspace: fixture.root,
      manifest: { name: 'x', mcpServers: { srv } },
      enabledMcpServers: ['srv'],
      toolSearch: { enabled: false },
    })
    await session.prepareStep({ messages: [] })
    states.push(session.mcpServers[0])
    await session.close()
  }
  expect(states).toMatchObject([
    {
      isConnected: false,
      problem: expect.stringMatching(/have the host set mcpServers\.srv\.sandbox\.network to true\. It said: .*EAI_AGAIN/u),
    },
    { isConnected: true },
    { isConnected: true },
  ])
}, 300_000)
