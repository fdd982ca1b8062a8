import { createMCPClient } from '@ai-sdk/mcp'
import { Experimental_StdioMCPTransport as StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio'
import { openJournal } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'
import { cli, connectTo, eras } from './mcp-client.ts'

describe.each(eras)('a client of %s over stdio', (era) => {
  test('finds the tools with what they do, and what the server reaches', async () => {
    const { root } = makeSandbox()
    const { client } = await connectTo(root, era)
    const { tools } = await client.listTools()
    const hints = Object.fromEntries(
      tools.map(({ name, annotations: { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = {} }) => [
        name,
        [readOnlyHint, destructiveHint, idempotentHint, openWorldHint],
      ]),
    )
    expect(hints).toEqual({
      read: [true, false, true, false],
      grep: [true, false, true, false],
      glob: [true, false, true, false],
      write: [false, true, true, false],
      edit: [false, true, false, false],
      bash: [false, true, false, false],
    })
    for (const { title, description, inputSchema } of tools) {
      expect([typeof title, typeof description, inputSchema.type]).toEqual(['string', 'string', 'object'])
    }
    const lines = client.getInstructions()?.split('\n') ?? []
    expect(lines).toHaveLength(4)
    expect(lines[0]).toContain(root)
    expect(lines[2]).toMatch(/^sandbox: /u)
    expect(lines[3]).toBe('Commands have no network.')
  })

  test('gets data and text of a call, and text and code of a refusal', async () => {
    const fixture = makeSandbox()
    fixture.put('a.txt', 'one\ntwo\n')
    const { call } = await connectTo(fixture.root, era)
    expect(await call('read', { path: 'a.txt' })).toEqual({
      code: 'ok',
      isError: false,
      text: 'one\ntwo\n',
      data: { content: 'one\ntwo\n' },
    })
    expect(await call('read', { path: 'b.txt' })).toMatchObject({ code: 'not_found', isError: true, data: undefined })
    // The session's own message, with the name that was meant.
    expect(await call('read', { pth: 'a.txt' })).toMatchObject({
      code: 'invalid_arguments',
      text: expect.stringContaining('Did you mean `path`?') as string,
    })
    await expect(call('rm', { path: 'a.txt' })).rejects.toThrow('There is no tool rm. The tools of this server are:')
  })

  test('starts, reads and stops a process that goes on between calls', async () => {
    const { root } = makeSandbox()
    const names = ['process_start', 'process_read', 'process_write', 'process_stop']
    const { call, client } = await connectTo(root, era, { args: ['--tools', names.join(), '--allow', 'bash'] })
    const { tools } = await client.listTools()
    expect(tools.map(({ name, annotations }) => [name, annotations?.destructiveHint]).toSorted()).toEqual(
      names.map((name) => [name, true]).toSorted(),
    )
    expect(await call('process_start', { command: 'cat', wait_ms: 0 })).toMatchObject({ data: { process_id: 'p1', running: true } })
    expect(await call('process_write', { process_id: 'p1', text: 'echo\n', wait_ms: 5_000 })).toMatchObject({
      data: { output: 'echo\n', running: true },
    })
    expect(await call('process_stop', { process_id: 'p1' })).toMatchObject({ data: { running: false, signal: 'SIGKILL' } })
    expect(await call('process_read', { process_id: 'p2' })).toMatchObject({ isError: true, code: 'not_found' })
  })

  test('hears of a command that runs, by its token', async () => {
    const { root } = makeSandbox()
    const { call } = await connectTo(root, era, { args: ['--allow', 'bash'] })
    const heard: (string | undefined)[] = []
    const command = 'printf "a\\nb\\033[31m\\n"; sleep 1.3; echo done'
    const ended = await call('bash', { command }, { onprogress: ({ message }) => heard.push(message) })
    expect(ended).toMatchObject({ code: 'ok', data: { stdout: 'a\nb\ndone\n', exit_code: 0 } })
    expect(heard).toEqual(['bash: 1 s: b'])
  })

  test('leaves a row for each call in the journal', async () => {
    const fixture = makeSandbox()
    const file = `${fixture.outside}/runs.db`
    const { client, call } = await connectTo(fixture.root, era, { args: ['--journal', file, '--allow', 'write'], decide: () => 'decline' })
    expect(await call('write', { path: 'a.txt', content: 'x' })).toMatchObject({ code: 'ok' })
    expect(await call('bash', { command: 'true' })).toMatchObject({ code: 'permission_rejected' })
    await client.close()
    const journal = await openJournal(file, { readOnly: true })
    onTestFinished(() => journal.close())
    const [run] = await journal.listRuns()
    const rows = await journal.listRun(run?.runId ?? '')
    expect(rows.map(({ toolName, status }) => [toolName, status])).toEqual([
      ['write', 'success'],
      ['bash', 'error'],
    ])
  })
})

test('--tools and --read-only choose the tools', async () => {
  const { root } = makeSandbox()
  const named = async (...args: string[]): Promise<string[]> =>
    (await (await connectTo(root, '2025', { args })).client.listTools()).tools.map(({ name }) => name).sort()
  expect(await named('--read-only')).toEqual(['glob', 'grep', 'read'])
  expect(await named('--tools', 'todo,read')).toEqual(['read', 'todo'])
  expect(await named('--read-only', '--tools', 'repo_overview')).toEqual(['repo_overview'])
  const { client } = await connectTo(root, '2026', { args: ['--tools', 'web_fetch,bash', '--allow-network'] })
  const { tools } = await client.listTools()
  expect(tools.map(({ annotations }) => annotations?.openWorldHint)).toEqual([true, true])
  expect(client.getInstructions()).toContain('Commands reach the network.')
})

test('R66 an overview of the roots is offered on request, as read-only, with its schema', async () => {
  const fixture = makeSandbox()
  fixture.put('src/main.rs', 'fn main() {}\n')
  fixture.put('secret/main.rs', 'fn main() {}\n')
  const args = ['--read-only', '--tools', 'repo_overview', '--deny', 'read:secret/**']
  const { client, call } = await connectTo(fixture.root, '2026', { args })
  const { tools } = await client.listTools()
  expect(tools).toMatchObject([{ title: 'Look at a repository', annotations: { readOnlyHint: true }, outputSchema: { type: 'object' } }])
  expect((await call('repo_overview', {})).data).toMatchObject({ files: 1, entry_points: ['src/main.rs'] })
})

test('a patch of several files is offered on request, and asked about by its paths', async () => {
  const fixture = makeSandbox()
  const patch = (path: string) => ({ patch: `*** Begin Patch\n*** Add File: ${path}\n+x\n*** End Patch` })
  const { client, call } = await connectTo(fixture.root, '2026', {
    args: ['--tools', 'apply_patch', '--allow', 'apply_patch:src/**', '--deny', 'fs.write:src/secret/**'],
    decide: () => 'decline',
  })
  const { tools } = await client.listTools()
  expect(tools).toMatchObject([{ name: 'apply_patch', annotations: { readOnlyHint: false, destructiveHint: true } }])
  expect(await call('apply_patch', patch('src/a'))).toMatchObject({ code: 'ok', data: { files: [{ path: 'src/a', change: 'add' }] } })
  expect(await call('apply_patch', patch('b'))).toMatchObject({ code: 'permission_rejected' })
  expect(await call('apply_patch', patch('src/secret/c'))).toMatchObject({ code: 'permission_denied' })
  expect(fixture.text('src/a')).toBe('x\n')
})

test('several roots are reached, the first by relative paths', async () => {
  const [one, two] = [makeSandbox(), makeSandbox()]
  one.put('a.txt', 'one')
  two.put('b.txt', 'two')
  const { call } = await connectTo(one.root, '2025', { args: ['--root', two.root] })
  expect((await call('read', { path: 'a.txt' })).data).toEqual({ content: 'one' })
  expect((await call('read', { path: two.at('b.txt') })).data).toEqual({ content: 'two' })
})

test('commands without other tools reach the roots', async () => {
  const fixture = makeSandbox()
  fixture.put('a.txt', 'one')
  const { call } = await connectTo(fixture.root, '2025', { args: ['--tools', 'bash', '--allow', 'bash'] })
  expect((await call('bash', { command: 'cat a.txt > b.txt; cat b.txt' })).data).toMatchObject({ stdout: 'one' })
})

test('roots of a client of 2025 narrow those of the server, and widen nothing', async () => {
  const fixture = makeSandbox()
  fixture.put('inner/a.txt', 'inner')
  fixture.put('b.txt', 'outer')
  let uris = [`file://${fixture.at('inner')}`, `file://${fixture.outside}`]
  const { client, call } = await connectTo(fixture.root, '2025', { roots: () => uris })
  expect((await call('read', { path: 'a.txt' })).data).toEqual({ content: 'inner' })
  expect(await call('read', { path: fixture.at('b.txt') })).toMatchObject({ isError: true })
  uris = [`file://${fixture.outside}`]
  await client.sendRootsListChanged()
  expect(await call('read', { path: 'a.txt' })).toMatchObject({
    code: 'capability_denied',
    text: expect.stringContaining(fixture.root) as string,
  })
  uris = ['file:///']
  await client.sendRootsListChanged()
  expect((await call('read', { path: 'b.txt' })).data).toEqual({ content: 'outer' })
})

test('@ai-sdk/mcp is a client', async () => {
  const fixture = makeSandbox()
  fixture.put('a.txt', 'one')
  const transport = new StdioMCPTransport({ command: process.execPath, args: [cli, 'mcp', '--root', fixture.root] })
  const client = await createMCPClient({ transport })
  onTestFinished(() => client.close())
  const tools = await client.tools()
  expect(Object.keys(tools).sort()).toEqual(['bash', 'edit', 'glob', 'grep', 'read', 'write'])
  const options = { toolCallId: '1', messages: [] }
  expect(await tools['read']?.execute({ path: 'a.txt' }, options as never)).toMatchObject({ structuredContent: { content: 'one' } })
  // It cannot ask its user.
  const refused = (await tools['bash']?.execute({ command: 'npm test' }, options as never)) as {
    isError: boolean
    content: { text: string }[]
  }
  expect(refused.isError).toBe(true)
  expect(refused.content[0]?.text).toContain("--allow 'bash:npm test'")
})
