import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, type ToolSet } from 'ai'
import { checkProviderTools, providerExecutors, type ProviderExecutorsOptions } from 'toolwright/providers'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'
import { openaiResponse, openaiText, startEndpoint } from '../support/scripted-endpoint.ts'

/** Has a scripted model make calls, and gives the items that the SDK sends back. */
async function sent(calls: object[], options: ProviderExecutorsOptions = {}) {
  const fixture = makeSandbox()
  const { url, bodies } = await startEndpoint([openaiResponse(...calls), openaiResponse(openaiText('done'))])
  const provider = createOpenAI({ apiKey: 'none', baseURL: url })
  const run = providerExecutors({ rootDir: fixture.root, ...options }).openai
  const isLocal = calls.some((call) => JSON.stringify(call).includes('local_shell'))
  const tools = checkProviderTools<ToolSet>({
    ...(isLocal && { local_shell: provider.tools.localShell({ execute: run.localShell }) }),
    ...(!isLocal && { shell: provider.tools.shell({ execute: run.shell }) }),
    apply_patch: provider.tools.applyPatch({ execute: run.applyPatch }),
  })
  const { text } = await generateText({ model: provider.responses('gpt-5.1'), tools, prompt: 'go', stopWhen: isStepCount(3) })
  expect(text).toBe('done')
  const input = bodies[1].input as { type?: string }[]
  return { fixture, items: input.filter(({ type }) => type?.endsWith('_output') === true) }
}

const shellCall = (action: object) => ({ type: 'shell_call', id: 'sh_1', call_id: 'call_1', status: 'completed', action })

describe('R11: what @ai-sdk/openai sends back', () => {
  test('shell_call_output, with an outcome for each command and the limit', async () => {
    const commands = ['echo one; echo err >&2', 'sleep 9', 'exit 4', 'curl https://example.com']
    const { items } = await sent([shellCall({ commands, timeout_ms: 1_500, max_output_length: 4_000 })])
    expect(items).toMatchSnapshot()
    expect(items[0]).toMatchObject({
      type: 'shell_call_output',
      call_id: 'call_1',
      max_output_length: 4_000,
      output: [
        { stdout: 'one\n', stderr: 'err\n', outcome: { type: 'exit', exit_code: 0 } },
        { stdout: '', stderr: '', outcome: { type: 'timeout' } },
        { outcome: { type: 'exit', exit_code: 4 } },
        { outcome: { type: 'exit', exit_code: 126 } },
      ],
    })
  })

  test('shell_call_output of a call that failed as a whole: no error of a function', async () => {
    const { items } = await sent([shellCall({ commands: ['a\0b'] })])
    expect(items).toMatchObject([{ type: 'shell_call_output', output: [{ stdout: '', outcome: { type: 'exit', exit_code: 126 } }] }])
  })

  test('local_shell_call_output', async () => {
    const action = { type: 'exec', command: ['sh', '-c', 'echo $FOO; exit 2'], env: { FOO: 'bar' }, timeout_ms: 1_000 }
    const { items } = await sent([{ type: 'local_shell_call', id: 'ls_1', call_id: 'call_1', status: 'completed', action }])
    expect(items).toEqual([{ type: 'local_shell_call_output', call_id: 'call_1', output: 'bar\n[Exit code 2.]' }])
  })

  test('apply_patch_call_output, completed and failed', async () => {
    const calls = [
      { type: 'create_file', path: 'a.txt', diff: '+one\n+two\n' },
      { type: 'update_file', path: 'a.txt', diff: '@@\n one\n-two\n+2\n' },
      { type: 'update_file', path: 'a.txt', diff: '@@\n-three\n+3\n' },
      { type: 'delete_file', path: '../outside' },
    ].map((operation, index) => ({ type: 'apply_patch_call', id: `ap_${index}`, call_id: `call_${index}`, status: 'completed', operation }))
    for (const call of calls.slice(0, 1)) {
      const { fixture, items } = await sent([call])
      expect(items).toMatchObject([{ type: 'apply_patch_call_output', call_id: 'call_0', status: 'completed' }])
      expect(fixture.text('a.txt')).toMatch(/^one\ntwo\n?$/u)
    }
    // The SDK makes the calls of one answer at the same time.
    const { items } = await sent(calls.slice(2))
    expect(items).toMatchSnapshot()
    expect(items).toMatchObject([
      { type: 'apply_patch_call_output', call_id: 'call_2', status: 'failed' },
      { type: 'apply_patch_call_output', call_id: 'call_3', status: 'failed' },
    ])
  })
})
