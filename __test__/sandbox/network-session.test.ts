import { once } from 'node:events'
import { createServer } from 'node:net'
import { HarnessAgent, type HarnessAgentAdapter } from '@ai-sdk/harness/agent'
import { isStepCount, tool } from 'ai'
import { createNetworkSandboxSession, createSandboxProvider, type NetworkSandboxSessionOptions } from 'toolwright/sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { isConfining } from '../confinement/stage/sandbox-options.ts'
import { attempt, refused } from '../support/refused.ts'
import { makeSandbox } from '../support/sandbox.ts'

function scene(options: Partial<NetworkSandboxSessionOptions> = {}) {
  const fixture = makeSandbox()
  const session = createNetworkSandboxSession({ rootDir: fixture.root, ...options })
  onTestFinished(() => session.destroy())
  const serve = (port: number, text: string) => {
    fixture.put(
      `server-${port}.mjs`,
      `import { createServer } from 'node:http'\ncreateServer((_, r) => r.end('${text}')).listen(${port}, '127.0.0.1')`,
    )
    return session.spawn({ command: `sleep 0.3; '${process.execPath}' server-${port}.mjs` })
  }
  return { fixture, session, serve }
}

const get = async (url: string): Promise<string> => (await fetch(url)).text()

describe('ports', () => {
  test('a server of the session is reached from this machine, and each has an address of its own', async () => {
    const { session, serve } = scene({ ports: [4000, 4001] })
    const [first] = await Promise.all([serve(4000, 'one'), serve(4001, 'two')])
    // Asked before they listen.
    const urls = await Promise.all([4000, 4001].map(async (port) => (await session.getPortEndpoint({ port })).url))
    expect(await Promise.all(urls.map(get))).toEqual(['one', 'two'])
    expect(urls[0]).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/u)
    expect(await session.getPortUrl({ port: 4000, protocol: 'ws' })).toBe(urls[0]?.replace('http', 'ws'))
    await first.kill()
    await expect(get(urls[0] ?? '')).rejects.toThrow()
    expect(await get(urls[1] ?? '')).toBe('two')
  })

  test('only what is exposed', async () => {
    const { session } = scene({ ports: [4000] })
    expect(await attempt(() => session.getPortEndpoint({ port: 22 }))).toEqual(refused(/^port 22 is not exposed; there are 4000\./u))
    await session.setPorts([4001])
    expect(session.ports).toEqual([4001])
    expect(await attempt(() => session.getPortEndpoint({ port: 4000 }))).toEqual(refused(/not exposed/u))
  })

  test('a port at which nobody listens', { timeout: 30_000 }, async () => {
    const { session } = scene({ ports: [4000] })
    await session.spawn({ command: 'sleep 30' })
    await expect(session.getPortEndpoint({ port: 4000 })).rejects.toMatchObject({ code: 'PROCESS_NOT_FOUND' })
  })
})

describe('the policy of the network', () => {
  test.skipIf(!isConfining)('deny-all and allow-all hold for later commands', async () => {
    const { session } = scene()
    const server = createServer((socket) => socket.end('host')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as { port: number }
    const reach = async () => (await session.run({ command: `cat < /dev/tcp/127.0.0.1/${port}` })).stdout
    await session.writeTextFile({ path: 'kept', content: 'kept' })
    expect(await reach()).toBe('')
    await session.setNetworkPolicy({ mode: 'allow-all' })
    expect(session.description).toContain('The network can be reached.')
    expect(await reach()).toBe('host')
    await session.setNetworkPolicy({ mode: 'deny-all' })
    expect(session.description).toContain('There is no network.')
    expect(await reach()).toBe('')
    expect(await session.readTextFile({ path: 'kept' })).toBe('kept')
  })

  test('deny-all is refused while a process has the network', async () => {
    const { session } = scene({ allowNetwork: true })
    const process = await session.spawn({ command: 'sleep 30' })
    await expect(session.setNetworkPolicy({ mode: 'deny-all' })).rejects.toMatchObject({ code: 'PROCESS_BUSY', details: { calls: 1 } })
    await process.kill()
    await expect.poll(() => session.setNetworkPolicy({ mode: 'deny-all' }).then(() => 'done', String)).toBe('done')
  })

  test.each([['nothing', undefined, /must be 'allow-all', 'deny-all' or 'custom'/u]])('%s is a typed error', async (_, policy, summary) => {
    expect(await attempt(() => scene().session.setNetworkPolicy(policy as never))).toEqual(refused(summary))
  })
})

describe('what is handed on', () => {
  test('restricted is the same sandbox, and can neither stop it nor change the network', async () => {
    const { fixture, session } = scene()
    const restricted = session.restricted()
    await restricted.run({ command: 'echo 1 > /tmp/x' })
    expect(await session.readTextFile({ path: '/tmp/x' })).toBe('1\n')
    for (const name of ['stop', 'destroy', 'setNetworkPolicy', 'getPortEndpoint', 'setPorts', 'ports'])
      expect(name in restricted).toBe(false)
    expect(session.defaultWorkingDirectory).toBe(fixture.root)
  })

  test('stop ends everything and can be called again, also by destroy', async () => {
    const { session } = scene({ home: 'private' })
    const process = await session.spawn({ command: 'sleep 30' })
    await session.stop()
    await expect(process.wait()).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await session.stop()
    await session.destroy()
    await session.destroy()
    expect(await attempt(() => session.run({ command: 'true' }))).toEqual(refused(/closed/u))
  })
})

/** A harness that plays its script: a recipe, then one call of a host's tool, then what came of it. */
function scripted(): HarnessAgentAdapter {
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never
  const adapter = {
    specificationVersion: 'harness-v1',
    harnessId: 'scripted',
    builtinTools: {},
    getBootstrap: async () => ({
      harnessId: 'scripted',
      bootstrapDir: '.bootstrap',
      files: [{ path: '.bootstrap/bridge.sh', content: 'echo bridge' }],
      commands: [{ command: 'mkdir -p "$HOME/.scripted" && sh bridge.sh > "$HOME/.scripted/log"' }],
    }),
    async doStart({ sandboxSession, sessionWorkDir, sessionId }: any) {
      const { stdout } = await sandboxSession.run({ command: 'pwd; cat "$HOME/.scripted/log"', workingDirectory: sessionWorkDir })
      const stopped = async () => ({ type: 'resume-session', harnessId: 'scripted', specificationVersion: 'harness-v1', data: {} })
      return {
        sessionId,
        isResume: false,
        doPromptTurn: async ({ emit }: any) => {
          const { promise: done, resolve } = Promise.withResolvers<void>()
          emit({ type: 'stream-start', modelId: 'scripted' })
          emit({ type: 'tool-call', toolCallId: 'one', toolName: 'shell', input: JSON.stringify({ command: 'cat said' }) })
          emit({ type: 'finish-step', finishReason: { unified: 'tool-calls' }, usage })
          await sandboxSession.writeTextFile({ path: 'said', content: stdout })
          return {
            done,
            submitToolResult: async ({ output }: any) => {
              emit({ type: 'text-start', id: 't' })
              emit({ type: 'text-delta', id: 't', delta: JSON.stringify(output) })
              emit({ type: 'text-end', id: 't' })
              emit({ type: 'finish-step', finishReason: { unified: 'stop' }, usage })
              emit({ type: 'finish', finishReason: { unified: 'stop' }, totalUsage: usage })
              resolve()
            },
          }
        },
        doStop: stopped,
        doDetach: stopped,
        doDestroy: async () => undefined,
      }
    },
  }
  return adapter as never
}

test('a turn of a HarnessAgent runs on it: the recipe, the working directory and a tool of the host', { timeout: 30_000 }, async () => {
  const fixture = makeSandbox()
  const agent = new HarnessAgent({
    harness: scripted(),
    sandbox: createSandboxProvider({ rootDir: fixture.root, home: 'private' }),
    stopWhen: isStepCount(5),
    tools: {
      shell: tool({
        inputSchema: z.object({ command: z.string() }),
        execute: async ({ command }, { experimental_sandbox }) => {
          expect(experimental_sandbox !== undefined && 'stop' in experimental_sandbox).toBe(false)
          return experimental_sandbox?.run({ command })
        },
      }),
    },
  } as never)
  const session = await agent.createSession()
  const { text } = await (agent as any).generate({ session, prompt: 'go' })
  expect(JSON.parse(text)).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/\/scripted-[^\n]+\nbridge\n$/u) })
  await session.destroy()
})
