/** Hooks of a host around calls: `before` and `after` of tool sets and sessions. */
import { createTools, openJournal, type AfterCall, type BeforeCall, type HookedCall } from 'toolwright'
import { createSession } from 'toolwright/contract'
import { describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

const options = { toolCallId: 'call', messages: [] }

async function scene(hooks: { before?: BeforeCall; after?: AfterCall }) {
  const box = makeSandbox()
  box.put('a.txt', 'one\n')
  const journal = await openJournal('memory:')
  onTestFinished(() => journal.close())
  const tools = createTools({ rootDir: box.root, journal, runId: 'run', ...hooks })
  const rows = async () => {
    await journal.flush()
    return journal.listRun('run')
  }
  return { box, tools, rows, journal, hooks }
}

describe('createTools', () => {
  test('before and after see each call with its tool, arguments, id and end', async () => {
    const seen: unknown[] = []
    const { tools } = await scene({
      before: ({ tool, args, toolCallId }) => void seen.push(['before', tool, args, toolCallId]),
      after: ({ tool, result, error }) => void seen.push(['after', tool, result ?? (error as Error).name]),
    })
    await tools.read.execute({ path: 'a.txt' }, options)
    await tools.read.execute({ path: 'b.txt' }).catch(() => undefined)
    expect(seen).toEqual([
      ['before', 'read', { path: 'a.txt' }, 'call'],
      ['after', 'read', 'one\n'],
      ['before', 'read', { path: 'b.txt' }, undefined],
      ['after', 'read', 'ToolError'],
    ])
  })

  test('a refusal has the reason for the model, does nothing, and is recorded as refused', async () => {
    const { tools, rows, box } = await scene({ before: ({ tool }) => (tool === 'write' ? { refuse: 'no files today' } : undefined) })
    await expect(tools.write.execute({ path: 'b.txt', content: 'x' }, options)).rejects.toMatchObject({
      code: 'TOOL_REFUSED_BY_HOOK',
      message: 'The host refuses this call: no files today [TOOL_REFUSED_BY_HOOK] Do without it, or do it in another way.',
    })
    expect(() => box.text('b.txt')).toThrow(/ENOENT/u)
    expect(await rows()).toMatchObject([{ toolName: 'write', status: 'error', acted: false }])
  })

  test('a hook that fails refuses', async () => {
    const { tools } = await scene({ before: () => Promise.reject(new Error('down')) })
    await expect(tools.read.execute({ path: 'a.txt' })).rejects.toThrow(
      'The host refuses this call: its check failed: down [TOOL_REFUSED_BY_HOOK]',
    )
  })

  test('other arguments are used, and recorded as changed', async () => {
    const { tools, rows } = await scene({
      before: (call) => (call.tool === 'bash' ? { args: { ...call.args, args: ['changed'] } } : undefined),
    })
    expect(await tools.bash.execute({ cmd: 'echo', args: ['asked'] }, options)).toBe('changed\n')
    const [row] = await rows()
    expect(JSON.parse(row?.inputJson ?? '')).toEqual({ cmd: 'echo', args: ['changed'], changedByHost: true })
  })

  test('other arguments are checked as those of a model', async () => {
    const { tools } = await scene({ before: () => ({ args: { path: '../x', content: 'x' } }) })
    await expect(tools.write.execute({ path: 'a.txt', content: 'y' })).rejects.toMatchObject({ code: 'TOOL_PATH_ESCAPE' })
  })

  test('another result is what the model reads and what is recorded', async () => {
    const { tools, rows } = await scene({ after: ({ tool, result }) => (tool === 'bash' ? { result: `${result}(masked)` } : undefined) })
    expect(await tools.bash.execute({ cmd: 'echo', args: ['secret'] }, options)).toBe('secret\n(masked)')
    const [row] = await rows()
    expect(row?.outputJson).toBe(JSON.stringify('secret\n(masked)'))
  })

  test('a failing after changes nothing, and warns', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    onTestFinished(() => warned.mockRestore())
    const { tools } = await scene({ after: () => Promise.reject(new Error('down')) })
    expect(await tools.read.execute({ path: 'a.txt' })).toBe('one\n')
    expect(warned).toHaveBeenCalledWith('after failed: down', { type: 'ToolwrightHookWarning' })
  })

  test('a streamed command has its hooks too', async () => {
    const box = makeSandbox()
    const tools = createTools({
      rootDir: box.root,
      streamOutput: true,
      before: (call) => (call.tool === 'bash' && call.args.cmd === 'false' ? { refuse: 'never' } : undefined),
      after: ({ result }) => ({ result: `${String(result)}!` }),
    })
    const last = async (cmd: string): Promise<unknown> => {
      let value: unknown
      for await (value of tools.bash.execute({ cmd, args: ['x'] }, options));
      return value
    }
    expect(await last('echo')).toBe('x\n!')
    await expect(last('false')).rejects.toThrow('The host refuses this call: never')
  })

  test('the tool says what the arguments are', () => {
    expectTypeOf<Extract<HookedCall, { tool: 'grep' }>['args']>().toEqualTypeOf<{ pattern: string; path?: string | undefined }>()
    expect(() => createTools({ before: 'yes' as never })).toThrow('before must be a function')
  })
})

describe('a session', () => {
  async function open(hooks: Pick<Parameters<typeof createSession>[0], 'before' | 'after'>) {
    const box = makeSandbox()
    box.put('a.txt', 'one\n')
    box.put('b.txt', 'two\n')
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const session = await createSession({
      workspace: box.root,
      journal,
      manifest: { name: 'x' },
      host: { prompt: async () => 'allow_once' as const },
      ...hooks,
    })
    onTestFinished(() => session.close())
    return { session, rows: async () => (await journal.flush(), journal.listRun(session.id)) }
  }

  test('refuses with the reason', async () => {
    const { session, rows } = await open({ before: ({ tool }) => (tool === 'bash' ? { refuse: 'no commands' } : undefined) })
    expect(await session.call('bash', { command: 'echo hi' })).toMatchObject({
      type: 'error',
      error_text: 'The host refuses this call: no commands',
      metadata: { code: 'permission_denied' },
    })
    expect(await session.call('read', { path: 'a.txt' })).toMatchObject({ type: 'output' })
    expect(await rows()).toMatchObject([{ toolName: 'bash', status: 'error', acted: false }, { toolName: 'read' }])
  })

  test('makes a call with other arguments, and says so in its row alone', async () => {
    const { session, rows } = await open({ before: () => ({ args: { path: 'b.txt' } }) })
    const envelope = await session.call('read', { path: 'a.txt' })
    expect(envelope).toMatchObject({ data: { content: 'two\n' } })
    expect(envelope).not.toHaveProperty('changed_by_host')
    const [row] = await rows()
    expect(JSON.parse(row?.inputJson ?? '')).toEqual({ path: 'b.txt' })
    expect(JSON.parse(row?.outputJson ?? '')).toMatchObject({ changed_by_host: true })
  })

  test('judges other arguments', async () => {
    const { session } = await open({ before: () => ({ args: { path: '/etc/passwd' } }) })
    expect(await session.call('read', { path: 'a.txt' })).toMatchObject({ metadata: { code: 'capability_refused' } })
    const { session: other } = await open({ before: () => ({ args: { nothing: 1 } }) })
    expect(await other.call('read', { path: 'a.txt' })).toMatchObject({ metadata: { code: 'invalid_arguments' } })
  })

  test('gives another result', async () => {
    const seen: unknown[] = []
    const { session, rows } = await open({
      after: ({ tool, envelope }) => {
        seen.push([tool, envelope.type])
        return envelope.type === 'output' ? { result: { content: 'masked' } } : undefined
      },
    })
    expect(await session.call('read', { path: 'a.txt' })).toMatchObject({ type: 'output', data: { content: 'masked' } })
    expect(await session.call('read', { path: 'none.txt' })).toMatchObject({ type: 'error' })
    expect(seen[0]).toEqual(['read', 'output'])
    expect((await rows())[0]?.outputJson).toContain('masked')
  })
})
