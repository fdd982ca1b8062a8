// The session where the AI SDK hands it over.
import { existsSync } from 'node:fs'
import { createAnthropic } from '@ai-sdk/anthropic'
import { generateText, isStepCount, tool, ToolLoopAgent } from 'ai'
import { createSandboxSession } from 'toolwright/sandbox'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { eventually } from '../support/processes.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { anthropicMessage, startEndpoint } from '../support/scripted-endpoint.ts'

type Part = { type: string; content?: unknown; is_error?: boolean }

test("Anthropic's bash tool without an execute of its own runs on it", async () => {
  const fixture = makeSandbox()
  const lines = ['echo out; echo err >&2; exit 3', 'echo kept > file; pwd', 'cat file; cat /etc/shadow > /etc/x']
  const calls = lines.map((command, n) => anthropicMessage({ type: 'tool_use', id: `toolu_${n}`, name: 'bash', input: { command } }))
  const { url, bodies } = await startEndpoint([...calls, anthropicMessage({ type: 'text', text: 'done' })])
  const provider = createAnthropic({ apiKey: 'none', baseURL: url })
  const sandbox = createSandboxSession({ rootDir: fixture.root })
  onTestFinished(() => sandbox.close())
  const { text } = await generateText({
    model: provider('claude-sonnet-4-5'),
    tools: { bash: provider.tools.bash_20250124() },
    experimental_sandbox: sandbox,
    stopWhen: isStepCount(10),
    prompt: 'go',
  })
  expect(text).toBe('done')
  const messages = bodies.at(-1).messages as { content: Part[] }[]
  const results = messages.flatMap(({ content }) => content).filter(({ type }) => type === 'tool_result')
  expect(results.map(({ is_error }) => is_error === true)).toEqual([false, false, false])
  const [first, second, third] = results.map(({ content }) => JSON.parse(String(content)) as object)
  expect(first).toEqual({ exitCode: 3, stdout: 'out\n', stderr: 'err\n' })
  expect(second).toEqual({ exitCode: 0, stdout: `${fixture.root}\n`, stderr: '' })
  expect(third).toMatchObject({ exitCode: 1, stdout: 'kept\n', stderr: expect.stringContaining('Read-only file system') })
  expect(fixture.text('file')).toBe('kept\n')
})

test('tools get it in their options, and an abort of the agent ends their command', async () => {
  const fixture = makeSandbox()
  const sandbox = createSandboxSession({ rootDir: fixture.root })
  onTestFinished(() => sandbox.close())
  const { url } = await startEndpoint([
    anthropicMessage({ type: 'tool_use', id: 'one', name: 'wait', input: {} }),
    anthropicMessage({ type: 'text', text: 'done' }),
  ])
  const controller = new AbortController()
  const agent = new ToolLoopAgent({
    model: createAnthropic({ apiKey: 'none', baseURL: url })('claude-sonnet-4-5'),
    tools: {
      wait: tool({
        inputSchema: z.object({}),
        execute: async (_, { abortSignal, experimental_sandbox }) => {
          void eventually(() => existsSync(fixture.at('began')), 10_000).then(() => controller.abort())
          return experimental_sandbox?.run({ command: 'touch began; sleep 20; touch late', ...(abortSignal && { abortSignal }) })
        },
      }),
    },
  })
  const began = performance.now()
  await expect(agent.generate({ prompt: 'go', abortSignal: controller.signal, experimental_sandbox: sandbox })).rejects.toThrow()
  expect(performance.now() - began).toBeLessThan(5_000)
  expect(fixture.text('began')).toBe('')
})
