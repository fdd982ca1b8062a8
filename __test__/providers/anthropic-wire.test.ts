import { createAnthropic } from '@ai-sdk/anthropic'
import { generateText, isStepCount } from 'ai'
import { checkProviderTools, providerExecutors, type ProviderExecutorsOptions } from 'toolwright/providers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'
import { anthropicMessage, startEndpoint } from '../support/scripted-endpoint.ts'

type Result = { type: string; tool_use_id: string; content: unknown; is_error?: boolean }

/** Has a scripted model make calls, one a turn, and gives the results that the SDK sends back. */
async function sent(calls: [name: string, input: object][], options: Omit<ProviderExecutorsOptions, 'memoryDir'> = {}, ownSchema = true) {
  const fixture = makeSandbox()
  const answers = calls.map(([name, input], index) => anthropicMessage({ type: 'tool_use', id: `toolu_${index}`, name, input }))
  const { url, bodies } = await startEndpoint([...answers, anthropicMessage({ type: 'text', text: 'done' })])
  const provider = createAnthropic({ apiKey: 'none', baseURL: url })
  const executors = providerExecutors({ rootDir: fixture.root, memoryDir: fixture.at('notes'), ...options })
  onTestFinished(() => executors.close())
  const run = executors.anthropic
  const bash = provider.tools.bash_20250124({ execute: run.bash })
  const tools = checkProviderTools({
    bash: ownSchema ? { ...bash, inputSchema: run.bashInput } : bash,
    str_replace_based_edit_tool: provider.tools.textEditor_20250728({ execute: run.textEditor, maxCharacters: 10_000 }),
    memory: provider.tools.memory_20250818({ execute: run.memory }),
  })
  const { text } = await generateText({ model: provider('claude-sonnet-4-5'), tools, prompt: 'go', stopWhen: isStepCount(20) })
  expect(text).toBe('done')
  const messages = bodies.at(-1).messages as { content: Result[] }[]
  return messages.flatMap(({ content }) => content).filter(({ type }) => type === 'tool_result')
}

const contents = (results: Result[]) => results.map(({ content, is_error }) => [is_error === true ? 'error' : 'ok', content])

describe('R11: what @ai-sdk/anthropic sends back', () => {
  test('tool_result of a bash session, restarted in between', async () => {
    const results = await sent([
      ['bash', { command: 'mkdir d; cd d; X=1' }],
      ['bash', { command: 'basename "$PWD"; echo "[$X]"; exit 3' }],
      ['bash', { restart: true }],
      ['bash', { command: 'echo "[$X]"' }],
      ['bash', { command: 'curl https://example.com' }],
    ])
    expect(contents(results)).toMatchSnapshot()
    expect(results[1]?.content).toBe('{"stdout":"d\\n[1]\\n","stderr":"","exitCode":3}')
    expect(results[3]?.content).toContain('[]')
    expect(results.map(({ is_error }) => is_error === true)).toEqual([false, false, false, false, true])
  })

  test("a restart fails the SDK's own schema, which is why there is another one", async () => {
    const [result] = await sent([['bash', { restart: true }]], {}, false)
    expect(result).toMatchObject({ is_error: true })
  })

  test('tool_result of a command that times out', async () => {
    const [, result] = await sent(
      [
        ['bash', { command: 'X=before' }],
        ['bash', { command: 'X=after; sleep 20' }],
      ],
      { toolTimeoutMs: 1_500 },
    )
    expect(result?.content).toContain('"exitCode":124')
    expect(result?.is_error).toBeUndefined()
  })

  test('tool_result of the editor, refusals included', async () => {
    const name = 'str_replace_based_edit_tool'
    const results = await sent([
      [name, { command: 'create', path: 'a.txt', file_text: 'one\ntwo\n' }],
      [name, { command: 'view', path: 'a.txt', view_range: [1, 1] }],
      [name, { command: 'str_replace', path: 'a.txt', old_str: 'two', new_str: '2' }],
      [name, { command: 'insert', path: 'a.txt', insert_line: 0, insert_text: 'zero' }],
      [name, { command: 'view', path: 'missing' }],
      [name, { command: 'view', path: '../outside' }],
    ])
    const texts = contents(results) as [string, string][]
    expect(texts.map(([kind, text]) => [kind, text.replace(/`\/[^`]*\/root`/u, '`ROOT`')])).toMatchSnapshot()
    expect(results.map(({ is_error }) => is_error === true)).toEqual([false, false, false, false, true, true])
  })

  test('tool_result of the memory, refusals included', async () => {
    const results = await sent([
      ['memory', { command: 'create', path: '/memories/a.txt', file_text: 'one' }],
      ['memory', { command: 'view', path: '/memories/a.txt' }],
      ['memory', { command: 'rename', old_path: '/memories/a.txt', new_path: '/memories/b/c.txt' }],
      ['memory', { command: 'delete', path: '/memories/b' }],
      ['memory', { command: 'delete', path: '/memories' }],
      ['memory', { command: 'view', path: '/memories/../root' }],
    ])
    expect(contents(results)).toMatchSnapshot()
    expect(results.map(({ is_error }) => is_error === true)).toEqual([false, false, false, false, true, true])
  })
})
