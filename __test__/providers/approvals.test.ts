import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { approvals, type ApprovalPolicy, getDefinedToolMetadata } from 'toolwright'
import { checkProviderTools, providerExecutors } from 'toolwright/providers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

const { tools: anthropic } = createAnthropic({ apiKey: 'x' })
const { tools: openai } = createOpenAI({ apiKey: 'x' })

function scene(policy: ApprovalPolicy = {}) {
  const fixture = makeSandbox()
  const run = providerExecutors({ rootDir: fixture.root, memoryDir: fixture.at('../memory') })
  onTestFinished(() => run.close())
  const tools = checkProviderTools({
    shell: openai.shell({ execute: run.openai.shell }),
    local_shell: openai.localShell({ execute: run.openai.localShell }),
    apply_patch: openai.applyPatch({ execute: run.openai.applyPatch }),
    bash: { ...anthropic.bash_20250124({ execute: run.anthropic.bash }), inputSchema: run.anthropic.bashInput },
    str_replace_based_edit_tool: anthropic.textEditor_20250728({ execute: run.anthropic.textEditor }),
    memory: anthropic.memory_20250818({ execute: run.anthropic.memory }),
  })
  // What is not known would be allowed.
  const approval = approvals(tools, { unknown: 'allow', ...policy })
  return {
    tools,
    answer: (toolName: string, input: unknown) => approval({ toolCall: { toolName, toolCallId: '1', input } }),
    ask: async (toolName: string, input: unknown) => (await approval({ toolCall: { toolName, toolCallId: '1', input } }))?.type ?? 'free',
  }
}

const calls = {
  shell: { action: { commands: ['rm a'] } },
  local_shell: { action: { type: 'exec', command: ['rm', 'a'] } },
  apply_patch: { callId: 'c', operation: { type: 'delete_file', path: 'a' } },
  bash: { command: 'rm a' },
  str_replace_based_edit_tool: { command: 'create', path: '/a', file_text: '' },
  memory: { command: 'delete', path: '/memories/a' },
}

describe('approvals of the tools that providers define', () => {
  test('a tool with a function of this package is known, and asked about', async () => {
    const { ask, answer, tools } = scene()
    for (const [name, input] of Object.entries(calls)) expect([name, await ask(name, input)]).toEqual([name, 'user-approval'])
    expect(await answer('shell', calls.shell)).toMatchObject({ reason: 'shell: rm a' })
    expect(await answer('local_shell', calls.local_shell)).toMatchObject({ reason: 'local_shell: rm a' })
    expect(await answer('apply_patch', calls.apply_patch)).toMatchObject({ reason: 'apply_patch: a' })
    // The tool itself is that of another package.
    expect(getDefinedToolMetadata(tools.shell)).toBeNull()
  })

  test('a view changes nothing', async () => {
    const { ask } = scene({ sideEffects: 'deny' })
    expect(await ask('str_replace_based_edit_tool', { command: 'view', path: '/a' })).toBe('free')
    expect(await ask('memory', { command: 'view', path: '/memories' })).toBe('free')
    expect(await ask('memory', calls.memory)).toBe('denied')
    for (const input of [undefined, null, 'view', { command: ['view'] }]) expect(await ask('memory', input)).toBe('denied')
  })

  test('an exception is one command, and nothing that a shell begins besides', async () => {
    const { ask } = scene({ except: { bash: ['npm run *'], shell: ['npm run *'], local_shell: ['npm run *'], apply_patch: ['docs/*'] } })
    const line = (command: string) => [ask('bash', { command }), ask('shell', { action: { commands: [command] } })]
    expect(await Promise.all(line('npm run build -- --fast'))).toEqual(['free', 'free'])
    for (const more of [
      '; rm -rf .',
      ' && rm a',
      ' || rm a',
      ' | sh',
      ' & rm a',
      '\nrm a',
      ' $(rm a)',
      ' `rm a`',
      ' > a',
      ' < a',
      ' <(rm a)',
    ]) {
      expect([more, ...(await Promise.all(line(`npm run build${more}`)))]).toEqual([more, 'user-approval', 'user-approval'])
    }
    expect(await ask('shell', { action: { commands: ['npm run a', 'rm a'] } })).toBe('user-approval')
    expect(await ask('shell', { action: { commands: [] } })).toBe('user-approval')
    const local = (more: object) => ask('local_shell', { action: { type: 'exec', command: ['npm', 'run', 'build'], ...more } })
    expect(await local({})).toBe('free')
    expect(await local({ workingDirectory: 'sub' })).toBe('user-approval')
    expect(await local({ env: { A: 'b' } })).toBe('user-approval')
    expect(await ask('bash', { command: 'npm run build', restart: true })).toBe('user-approval')
    const change = (operation: object) => ask('apply_patch', { callId: 'c', operation: { type: 'update_file', diff: '', ...operation } })
    expect(await change({ path: 'docs/a.md' })).toBe('free')
    expect(await change({ path: 'docs/../a.md' })).toBe('user-approval')
    expect(await change({ path: 'docs/a.md', moveTo: 'a.md' })).toBe('user-approval')
    expect(await change({ path: 'a.md' })).toBe('user-approval')
  })
})
