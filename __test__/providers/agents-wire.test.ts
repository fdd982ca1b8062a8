import { Agent, applyPatchTool, type Model, type ModelRequest, type ModelResponse, Runner, shellTool, Usage } from '@openai/agents-core'
import { providerExecutors, type ProviderExecutorsOptions } from 'toolwright/providers'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'
import { startEndpoint } from '../support/scripted-endpoint.ts'

/** A model of the Agents SDK behind an endpoint, which is sent the input as it is. */
const modelAt = (url: string): Model => ({
  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify({ input }) })
    const { output } = (await answer.json()) as { output: ModelResponse['output'] }
    return { output, usage: new Usage() }
  },
  getStreamedResponse() {
    throw new Error('not used')
  },
})

/** Has a scripted model make calls, and gives the items that the SDK sends back. */
async function sent(calls: object[], options: ProviderExecutorsOptions = {}) {
  const fixture = makeSandbox()
  const done = { type: 'message', id: 'msg', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'done' }] }
  const { url, bodies } = await startEndpoint([{ output: calls }, { output: [done] }])
  const { agents } = providerExecutors({ rootDir: fixture.root, ...options })
  const agent = new Agent({
    name: 'test',
    model: modelAt(url),
    tools: [shellTool({ shell: agents.shell }), applyPatchTool({ editor: agents.editor })],
  })
  const result = await new Runner({ tracingDisabled: true }).run(agent, 'go')
  expect(result.finalOutput).toBe('done')
  const input = bodies[1].input as { type?: string }[]
  return { fixture, items: input.filter(({ type }) => type?.endsWith('_output') === true) }
}

describe('R11: what @openai/agents-core sends back', () => {
  test('shell_call_output, with an outcome for each command', async () => {
    const action = { commands: ['echo one', 'sleep 9', 'exit 4'], timeoutMs: 1_500, maxOutputLength: 500 }
    const { items } = await sent([{ type: 'shell_call', callId: 'call_1', status: 'completed', action }])
    expect(items).toMatchObject([
      {
        type: 'shell_call_output',
        callId: 'call_1',
        maxOutputLength: 500,
        output: [
          { stdout: 'one\n', stderr: '', outcome: { type: 'exit', exitCode: 0 } },
          { stdout: '', stderr: '', outcome: { type: 'timeout' } },
          { stdout: '', stderr: '', outcome: { type: 'exit', exitCode: 4 } },
        ],
      },
    ])
  })

  test('apply_patch_call_output, completed and failed', async () => {
    const operations = [
      { type: 'create_file', path: 'a.txt', diff: '+one\n' },
      { type: 'delete_file', path: 'missing.txt' },
    ]
    const calls = operations.map((operation, index) => ({
      type: 'apply_patch_call',
      callId: `call_${index}`,
      status: 'completed',
      operation,
    }))
    const { fixture, items } = await sent(calls)
    expect(items).toMatchObject([
      { type: 'apply_patch_call_output', callId: 'call_0', status: 'completed' },
      { type: 'apply_patch_call_output', callId: 'call_1', status: 'failed' },
    ])
    expect(fixture.text('a.txt')).toMatch(/^one\n?$/u)
  })
})
