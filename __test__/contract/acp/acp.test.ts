import * as acp from '@agentclientprotocol/sdk'
import {
  acpToolKind,
  acpToolKinds,
  fromAcpPermission,
  lockedToolIds,
  toAcpPermissionRequest,
  toAcpToolCall,
  type PromptRequest,
} from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { acpProblems } from './acp-schema.ts'
import { dataOf, failureOf, noRules, openScene, testTool } from '../scene.ts'

const kinds: [string, acp.ToolKind][] = [
  ['read', 'read'],
  ['write', 'edit'],
  ['edit', 'edit'],
  ['glob', 'search'],
  ['grep', 'search'],
  ['bash', 'execute'],
  ['todo', 'other'],
  ['task', 'other'],
  ['question', 'other'],
  ['web_search', 'fetch'],
  ['web_fetch', 'fetch'],
  ['skill', 'think'],
  ['tool_search', 'search'],
  ['apply_patch', 'edit'],
  ['repo_overview', 'read'],
  ['lsp', 'search'],
  ['repo_clone', 'execute'],
  ['plan_exit', 'other'],
]

describe('kinds', () => {
  test.each(kinds)('R65 %s is %s', (id, kind) => {
    expect(acpToolKind(id)).toBe(kind)
    expect(acpProblems('ToolKind', kind)).toBeNull()
  })

  test('R65 every locked id has one; a declared kind is for other ids; what is none is other', () => {
    for (const id of lockedToolIds) expect(kinds.map(([name]) => name)).toContain(id)
    expect(acpToolKind('read', 'delete')).toBe('read')
    expect(acpToolKind('mcp_move', 'move')).toBe('move')
    expect(acpToolKind('mcp_any')).toBe('other')
    expect(acpToolKind('mcp_any', 'dance' as never)).toBe('other')
    expect(acpToolKind('constructor')).toBe('other')
    for (const kind of acpToolKinds) expect(acpProblems('ToolKind', kind)).toBeNull()
  })
})

describe('tool calls', () => {
  const of = (tool: string, args: object) => ({ id: 'c1', tool, args })

  test('R65 a change is shown as a diff with an absolute path', async () => {
    const { call, root, at } = await openScene()
    const args = { path: 'a.txt', content: 'new' }
    const written = toAcpToolCall(of('write', args), await call('write', args), { workspace: root })
    expect(written).toMatchObject({
      kind: 'edit',
      status: 'completed',
      content: [{ type: 'diff', path: at('a.txt'), oldText: null, newText: 'new' }],
      locations: [{ path: at('a.txt') }],
    })
    const change = { path: 'a.txt', old_string: 'new', new_string: 'newer' }
    const edited = toAcpToolCall(of('edit', change), await call('edit', change), { workspace: root })
    expect(edited.content).toEqual([{ type: 'diff', path: at('a.txt'), oldText: 'new', newText: 'newer' }])
    for (const told of [written, edited]) {
      expect(acpProblems('ToolCall', told)).toBeNull()
      expect(acpProblems('ToolCallUpdate', told)).toBeNull()
    }
  })

  test('a write over a file shows what it held, to the host alone', async () => {
    const { call, root, at, put } = await openScene()
    const oldTextOf = (told: { content: unknown }): unknown => (told.content as { oldText?: unknown }[])[0]?.oldText
    const args = { path: 'a.txt', content: 'new' }
    put('a.txt', 'old: é\n')
    const envelope = await call('write', args)
    expect(oldTextOf(toAcpToolCall(of('write', args), envelope, { workspace: root }))).toBe('old: é\n')
    expect(JSON.stringify(envelope)).not.toContain('old')
    expect(Reflect.ownKeys(envelope)).toEqual(['type', 'data', 'metadata'])
    // Another object is not what the session gave.
    expect(oldTextOf(toAcpToolCall(of('write', args), structuredClone(envelope), { workspace: root }))).toBeNull()
    expect(oldTextOf(toAcpToolCall(of('write', args), undefined, { workspace: root, oldText: 'before' }))).toBe('before')
    for (const [name, content] of [
      ['long', 'x'.repeat(200_001)],
      ['binary', 'a\0b'],
    ] as const) {
      put(name, content)
      const over = { path: name, content: 'new' }
      expect(oldTextOf(toAcpToolCall(of('write', over), await call('write', over), { workspace: root }))).toBeNull()
    }
    put('empty', '')
    const over = { path: 'empty', content: 'new' }
    expect(oldTextOf(toAcpToolCall(of('write', over), await call('write', over), { workspace: root }))).toBe('')
    expect(at('a.txt')).toContain(root)
    expect(() => toAcpToolCall(of('write', args), undefined, { oldText: 1 as never })).toThrow(/oldText must be a string/u)
  })

  test('a prompt for a write shows it too', async () => {
    const seen: unknown[] = []
    const { call, root, put, text } = await openScene({
      ...noRules,
      host: {
        prompt: (request) => {
          seen.push(toAcpPermissionRequest(request, 's', { workspace: root }).toolCall.content)
          return 'allow_once'
        },
      },
    })
    put('a.txt', 'old')
    expect((await call('write', { path: 'a.txt', content: 'new' })).type).toBe('output')
    expect((await call('write', { path: 'b.txt', content: 'new' })).type).toBe('output')
    expect(seen).toMatchObject([[{ type: 'diff', oldText: 'old', newText: 'new' }], [{ type: 'diff', oldText: null, newText: 'new' }]])
    expect(text('a.txt')).toBe('new')
  })

  test('R65 a change that failed shows the error, and no diff', async () => {
    const { call, root } = await openScene()
    const args = { path: 'none.txt', old_string: 'a', new_string: 'b' }
    const told = toAcpToolCall(of('edit', args), await call('edit', args), { workspace: root })
    expect(told.status).toBe('failed')
    expect(told.content).toMatchObject([{ type: 'content', content: { type: 'text', text: expect.stringMatching(/not found/iu) } }])
    expect(acpProblems('ToolCall', told)).toBeNull()
  })

  test('R65 matches are places with lines', async () => {
    const { call, root, put, at } = await openScene()
    put('a.txt', 'x\nhit\n')
    const args = { pattern: 'hit' }
    const told = toAcpToolCall(of('grep', args), await call('grep', args), { workspace: root })
    expect(told.locations).toEqual([{ path: at('a.txt'), line: 2 }])
    expect(acpProblems('ToolCall', told)).toBeNull()
  })

  test("R65 a command is shown by the client's terminal, or by its output", async () => {
    const { call } = await openScene()
    const args = { command: 'echo out; echo err >&2' }
    const envelope = await call('bash', args)
    const plain = toAcpToolCall(of('bash', args), envelope)
    expect(plain.content).toMatchObject([{ type: 'content', content: { text: 'out\nerr\n' } }])
    const shown = toAcpToolCall(of('bash', args), envelope, { terminalId: 't1' })
    expect(shown.content).toEqual([{ type: 'terminal', terminalId: 't1' }])
    for (const told of [plain, shown]) expect(acpProblems('ToolCall', told)).toBeNull()
  })

  test('R65 whatever the arguments are, the call is one of the protocol', () => {
    for (const args of [undefined, null, 7, 'x', [], { path: 7 }, { path: '' }, { command: 'a\nb'.repeat(200) }]) {
      for (const tool of ['read', 'write', 'edit', 'bash', 'mine']) {
        const told = toAcpToolCall({ id: 'c1', tool, args, pending: true })
        expect(told.status).toBe('pending')
        expect(told.title.length).toBeLessThan(200)
        expect(told.title).not.toContain('\n')
        expect(acpProblems('ToolCall', told)).toBeNull()
      }
    }
  })
})

describe('permissions', () => {
  test('R41 the choices go out and come back', () => {
    const request = {
      session_id: 's',
      call_id: 'c1',
      tool: 'write',
      args: { path: 'a' },
      subjects: [],
      rules: [],
    } as unknown as PromptRequest
    const told = toAcpPermissionRequest(request, 'acp-session', { workspace: '/w' })
    expect(acpProblems('RequestPermissionRequest', told)).toBeNull()
    expect(told.toolCall).toMatchObject({ toolCallId: 'c1', status: 'pending', kind: 'edit' })
    expect(new Set(told.options.map(({ kind }) => kind))).toEqual(new Set(['allow_once', 'allow_always', 'reject_once', 'reject_always']))
    const back = (optionId: string) => fromAcpPermission({ outcome: { outcome: 'selected', optionId } })
    for (const { optionId, kind } of told.options) expect(back(optionId).decision).toBe(kind)
    expect(back('allow_always')).toEqual({ decision: 'allow_always', scope: 'session' })
    expect(back('allow_always_project')).toEqual({ decision: 'allow_always', scope: 'project' })
    expect(back('none of them').decision).toBe('reject_once')
    expect(fromAcpPermission({ outcome: { outcome: 'cancelled' } }).decision).toBe('reject_once')
  })
})

describe('a connection', () => {
  test('R65 a client receives the updates of a session, and answers its prompts', async () => {
    const updates: acp.SessionNotification[] = []
    const permissions: acp.RequestPermissionRequest[] = []
    const client = acp
      .client({ name: 'client' })
      .onNotification(acp.methods.client.session.update, ({ params }) => {
        updates.push(params)
      })
      .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
        permissions.push(params)
        const optionId = params.toolCall.name === 'write' ? 'allow_always' : 'reject_once'
        return { outcome: { outcome: 'selected', optionId } }
      })
    // Two streams of bytes: what is sent is what a process at the other end would read.
    const there = new TransformStream<Uint8Array, Uint8Array>()
    const back = new TransformStream<Uint8Array, Uint8Array>()
    const clientEnd = client.connect(acp.ndJsonStream(back.writable, there.readable))
    const connection = acp.agent({ name: 'agent' }).connect(acp.ndJsonStream(there.writable, back.readable))
    onTestFinished(() => {
      connection.close()
      clientEnd.close()
    })
    const peer = connection.client

    const seen = new Set<string>()
    const scene = await openScene({
      ...noRules,
      tools: [testTool('free', () => ({ fine: true }))],
      host: {
        prompt: async (request) =>
          fromAcpPermission(await peer.request(acp.methods.client.session.requestPermission, toAcpPermissionRequest(request, 'acp-1'))),
      },
      onRecord: async (part) => {
        const call = { id: part.call_id, tool: part.tool, args: part.args }
        const told = toAcpToolCall(call, part.type === 'result' ? part.envelope : undefined)
        const sessionUpdate = seen.has(told.toolCallId) ? ('tool_call_update' as const) : ('tool_call' as const)
        seen.add(told.toolCallId)
        await peer.notify(acp.methods.client.session.update, { sessionId: 'acp-1', update: { sessionUpdate, ...told } })
      },
    })
    expect((await scene.call('write', { path: 'a.txt', content: 'a' }, { callId: 'c1' })).type).toBe('output')
    expect((await scene.call('write', { path: 'a.txt', content: 'b' }, { callId: 'c2' })).type).toBe('output')
    expect(failureOf(await scene.call('read', { path: 'a.txt' }, { callId: 'c3' })).code).toBe('permission_rejected')
    expect(dataOf(await scene.call('free', {}, { callId: 'c4' }))).toEqual({ fine: true })

    await expect.poll(() => updates.length).toBe(8)
    expect(permissions.map(({ toolCall }) => toolCall.toolCallId)).toEqual(['c1', 'c3'])
    const told = updates.map(({ update }) => update as acp.ToolCallUpdate & { sessionUpdate: string })
    expect(told.map(({ sessionUpdate, toolCallId, status }) => `${toolCallId} ${sessionUpdate} ${status}`)).toEqual([
      'c1 tool_call in_progress',
      'c1 tool_call_update completed',
      'c2 tool_call in_progress',
      'c2 tool_call_update completed',
      'c3 tool_call in_progress',
      'c3 tool_call_update failed',
      'c4 tool_call in_progress',
      'c4 tool_call_update completed',
    ])
  })
})
