import { tool, ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { approvals, createTools, defineTool, needsApproval, type ApprovalPolicy } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { script } from '../support/scripted-model.ts'
import { makeSandbox } from '../support/sandbox.ts'

const mine = {
  note: defineTool({
    name: 'note',
    description: 'A tool of a test.',
    schema: z.object({ text: z.string() }),
    sideEffect: true,
    idempotent: true,
    execute: () => 'ok',
  }),
  pay: defineTool({
    name: 'pay',
    description: 'A tool of a test.',
    schema: z.object({ to: z.string() }),
    sideEffect: true,
    idempotent: false,
    execute: () => 'ok',
  }),
  look: defineTool({
    name: 'look',
    description: 'A tool of a test.',
    schema: z.object({}),
    sideEffect: false,
    execute: () => 'ok',
  }),
  other: tool({ inputSchema: z.object({}), execute: () => 'ok' }),
}
const tools = { ...createTools({ rootDir: '.' }), ...mine }

const ask = async (toolName: string, input: unknown, policy?: ApprovalPolicy) =>
  (await approvals(tools, policy)({ toolCall: { toolName, toolCallId: '1', input } }))?.type

describe('approvals', () => {
  test.each([
    ['read', { path: 'a' }, undefined],
    ['grep', { pattern: 'a' }, undefined],
    ['look', {}, undefined],
    ['write', { path: 'a', content: '' }, 'user-approval'],
    ['bash', { cmd: 'ls' }, 'user-approval'],
    ['pay', { to: 'ann' }, 'user-approval'],
    ['other', {}, 'user-approval'],
    ['no_such_tool', {}, 'user-approval'],
    ['__proto__', {}, 'user-approval'],
  ])('of %s with %j is %s by default', async (toolName, input, expected) => {
    expect(await ask(toolName, input)).toBe(expected)
  })

  test('follow the policy', async () => {
    const policy: ApprovalPolicy = {
      sideEffects: 'deny',
      idempotent: 'allow',
      unknown: 'allow',
      except: { bash: ['npm test', 'npm run *'] },
    }
    expect(await ask('pay', { to: 'ann' }, policy)).toBe('denied')
    expect(await ask('note', { text: '' }, policy)).toBeUndefined()
    expect(await ask('other', {}, policy)).toBeUndefined()
    expect(await ask('bash', { cmd: 'npm', args: ['test'] }, policy)).toBeUndefined()
    expect(await ask('bash', { cmd: 'npm', args: ['run', 'build', 'x'] }, policy)).toBeUndefined()
    expect(await ask('bash', { cmd: 'npm', args: ['test', '--', 'x'] }, policy)).toBe('denied')
    expect(await ask('bash', { cmd: 'xnpm', args: ['run', 'a'] }, policy)).toBe('denied')
    // One word with a space in it is not two words.
    expect(await ask('bash', { cmd: 'npm test' }, policy)).toBe('denied')
  })

  test('make no exception for what a pattern does not show', async () => {
    const policy: ApprovalPolicy = { except: { bash: ['npm test'], write: ['docs/*'] } }
    const of = (toolName: string, input: object) => ask(toolName, input, policy)
    expect(await of('write', { path: 'docs/a.md', content: '' })).toBeUndefined()
    expect(await of('write', { path: 'docs/../package.json', content: '' })).toBe('user-approval')
    expect(await of('write', { path: 'package.json', cmd: 'docs/a.md', content: '' })).toBe('user-approval')
    expect(await of('bash', { cmd: 'npm', args: ['test'], opts: { cwd: '.' } })).toBeUndefined()
    expect(await of('bash', { cmd: 'npm', args: ['test'], opts: { cwd: 'evil' } })).toBe('user-approval')
  })

  test('that deny fail a call of the AI SDK 6, and ask no user', async () => {
    type Asking = { needsApproval(input: unknown, options: object): Promise<boolean>; execute(input: unknown, options: object): unknown }
    const { pay, look } = needsApproval(tools, approvals(tools, { sideEffects: 'deny' })) as unknown as Record<'pay' | 'look', Asking>
    expect(await pay.needsApproval({ to: 'ann' }, { toolCallId: '1' })).toBe(false)
    expect(() => pay.execute({ to: 'ann' }, { toolCallId: '1' })).toThrow('The host does not allow pay here. [CAPABILITY_DENIED]')
    expect(await look.needsApproval({}, { toolCallId: '1' })).toBe(false)
    expect(await look.execute({}, { toolCallId: '1' })).toBe('ok')
  })

  test('are asked without the id of a call, as Mastra does, and a denied one is not made', async () => {
    type Asking = { needsApproval(input: unknown, options?: object): Promise<boolean>; execute(input: unknown, options?: object): unknown }
    const asked = needsApproval(tools, approvals(tools)) as unknown as Record<'pay' | 'look', Asking>
    expect(await asked.look.needsApproval({}, { requestContext: {} })).toBe(false)
    expect(await asked.look.execute({}, { toolCallId: '1' })).toBe('ok')
    expect(await asked.pay.needsApproval({ to: 'ann' })).toBe(true)
    expect(await asked.pay.execute({ to: 'ann' }, { toolCallId: '1' })).toBe('ok')
    const denied = needsApproval(tools, approvals(tools, { sideEffects: 'deny' })) as unknown as Record<'pay', Asking>
    expect(await denied.pay.needsApproval({ to: 'ann' }, {})).toBe(false)
    await expect(denied.pay.execute({ to: 'ann' }, { toolCallId: '1' })).rejects.toThrow('[CAPABILITY_DENIED]')
  })

  test('refuse what makes no sense', () => {
    expect(() => approvals(tools, { sideEffects: 'ask' as never })).toThrow('sideEffects must be one of user-approval, allow, deny')
    expect(() => approvals(tools, { except: { shell: ['ls'] } })).toThrow('except.shell')
    expect(() => approvals(tools, { excepted: {} } as never)).toThrow('excepted')
  })

  test('stop an agent before the call, with what it is about', async () => {
    const { root } = makeSandbox()
    const set = createTools({ rootDir: root })
    const model = new MockLanguageModelV4({ doGenerate: script([{ tool: 'write', input: { path: 'a.txt', content: 'x' } }], 'done') })
    const agent = new ToolLoopAgent({ model, tools: set, toolApproval: approvals(set) })
    const { content } = await agent.generate({ prompt: 'go' })
    expect(content.find(({ type }) => type === 'tool-approval-request')).toMatchObject({ reason: 'write: a.txt' })
  })

  test('are asked by tools for the AI SDK 6, which keep what they had', async () => {
    const set = needsApproval(tools, approvals(tools)) as unknown as Record<
      string,
      { needsApproval(input: unknown, options: object): Promise<boolean> }
    >
    expect(await set['read']?.needsApproval({ path: 'a' }, { toolCallId: '1' })).toBe(false)
    expect(await set['bash']?.needsApproval({ cmd: 'ls' }, { toolCallId: '1' })).toBe(true)
    expect(new Set(Reflect.ownKeys(set['read'] ?? {}))).toEqual(new Set([...Reflect.ownKeys(tools.read), 'needsApproval']))
  })
})
