/** Frameworks that take tools in the form of the AI SDK and call them in ways of their own. */
import { createTools } from 'toolwright'
import { createSession } from 'toolwright/contract'
import { providerExecutors } from 'toolwright/providers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

type AnyTool = {
  execute: (args: unknown, options?: unknown) => Promise<unknown>
  toModelOutput?: (given: unknown) => { type: string; value: string }
}

const calls = {
  read: { path: 'a.txt' },
  grep: { pattern: 'one' },
  bash: { cmd: 'echo', args: ['hi'] },
  write: { path: 'b.txt', content: 'x' },
  edit: { path: 'a.txt', patch: '@@ -1 +1 @@\n-one\n+two\n' },
} as const

/** Mastra calls with options of its own, or none. */
const optionsOfOthers = [undefined, null, {}, { requestContext: new Map(), toolCallId: 'c', messages: undefined }]

describe.each([false, true])('createTools with lineNumbers: %s', (lineNumbers) => {
  test.each(optionsOfOthers)('takes options %j, and the bare output for the model', async (options) => {
    const { root, put } = makeSandbox()
    put('a.txt', 'one\n')
    put('empty.txt', '')
    const tools = createTools({ rootDir: root, lineNumbers }) as unknown as Record<string, AnyTool>
    for (const [name, args] of Object.entries(calls)) {
      const tool = tools[name] as AnyTool
      const output = await tool.execute(args, options)
      const shown = tool.toModelOutput?.(output)
      expect(shown, name).toEqual({ type: 'text', value: output })
      // With its arguments, a result can also have line numbers and notes.
      expect(tool.toModelOutput?.({ toolCallId: 'c', input: args, output }).value, name).toContain((output as string).trimEnd())
    }
    const empty = await tools['read']?.execute({ path: 'empty.txt' }, options)
    expect(tools['read']?.toModelOutput?.(empty)).toEqual({ type: 'text', value: '(empty file)' })
    expect(tools['grep']?.toModelOutput?.('').value).toBe('(no matches)')
  })
})

test('a session takes the same', async () => {
  const { root, put } = makeSandbox()
  put('a.txt', 'one\n')
  const session = await createSession({ workspace: root, manifest: { name: 'x' }, host: { prompt: async () => 'allow_once' as const } })
  onTestFinished(() => session.close())
  const tools = session.tools as unknown as Record<string, AnyTool>
  for (const options of optionsOfOthers) {
    const output = await tools['read']?.execute({ path: 'a.txt' }, options)
    expect(output).toMatchObject({ type: 'output' })
    expect(tools['read']?.toModelOutput?.(output)).toEqual(
      tools['read']?.toModelOutput?.({ toolCallId: 'c', input: { path: 'a.txt' }, output }),
    )
    expect(await tools['read']?.execute({ path: 'b.txt' }, options)).toMatchObject({ type: 'error' })
  }
})

test('executors of providers take a call without options', async () => {
  const { root, put } = makeSandbox()
  put('a.txt', 'one\n')
  await using executors = providerExecutors({ rootDir: root, memoryDir: `${root}/memories` })
  const { openai, anthropic, codex } = executors as unknown as Record<
    string,
    Record<string, (input: unknown, options?: unknown) => Promise<unknown>>
  >
  for (const options of optionsOfOthers) {
    expect(await openai?.['shell']?.({ action: { commands: ['echo hi'] } }, options)).toMatchObject({ output: [{ stdout: 'hi\n' }] })
    expect(await anthropic?.['bash']?.({ command: 'echo hi', restart: null }, options)).toMatchObject({ stdout: 'hi\n' })
    expect(await anthropic?.['textEditor']?.({ command: 'view', path: `${root}/a.txt`, view_range: null }, options)).toContain('one')
    expect(await anthropic?.['memory']?.({ command: 'view', path: '/memories', view_range: null }, options)).toBeDefined()
    const exec = (codex as unknown as Record<string, AnyTool>)['exec_command'] as AnyTool
    expect(await exec.execute({ cmd: 'echo hi', workdir: null, yield_time_ms: null }, options)).toContain('hi')
  }
})
