/** Results as the clients of models show them: lines, within a limit, with the place of the whole first. */
import { expect, test } from 'vitest'
import { readableText } from '../../ts/contract/registry/readable-result.ts'
import { runCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { connectTo } from './mcp-client.ts'

const ended = { exit_code: 0, signal: null, timed_out: false }

test.each([
  ['bash', { stdout: 'one\ntwo\n', stderr: '', ...ended }],
  ['bash', { stdout: 'one', stderr: 'oh\n', ...ended, exit_code: 3 }],
  ['bash', { stdout: '', stderr: '', ...ended }],
  ['bash', { stdout: '', stderr: '', ...ended, exit_code: null, timed_out: true }],
  ['bash', { stdout: 'x\n', stderr: '', ...ended, exit_code: null, signal: 'SIGKILL' }],
  ['bash', { head: 'a\n', tail: 'z\n', left_out_bytes: 9, ...ended }],
  ['read', { content: 'one\ntwo\n' }],
  ['read', { content: '' }],
  ['read', { head: 'one', next_offset: 3 }],
  ['grep', { matches: [{ path: 'a', line: 1, text: 'x' }], files_scanned: 1 }],
  ['grep', { matches: [], files_scanned: 1 }],
  ['grep', { head: 'a:1:x\n', tail: 'z:9:x\n', files_scanned: 2 }],
  ['glob', { entries: ['a', 'b/c'] }],
  ['glob', { entries: [] }],
  ['todo', { todos: [{ content: 'x' }] }],
  ['of_a_host', ['x', null]],
  ['of_a_host', undefined],
])('%s %j', (tool, data) => {
  expect(readableText(tool, data)).toMatchSnapshot()
})

test('a long output has lines, ends within the limit, and begins with the place of all of it', async () => {
  const { root } = makeSandbox()
  const { client } = await connectTo(root, '2025', { args: ['--allow', 'bash'] })
  const { content } = await client.callTool({ name: 'bash', arguments: { command: 'seq 1 60000' } })
  const [note = '', output = ''] = content.map((part) => (part.type === 'text' ? part.text : ''))
  expect(note).toMatch(/bytes of the output are left out between head and tail\. All of it is in /u)
  expect(output.split('\n').length).toBeGreaterThan(5_000)
  expect(output).toMatch(/^1\n2\n.*\n60000$/su)
  expect(Buffer.byteLength(output)).toBeLessThan(51_000)
})

test('notes are in the data too, and first: some clients show a model nothing else', async () => {
  const { root } = makeSandbox()
  const { client, call } = await connectTo(root, '2025', { args: ['--allow', 'bash'] })
  const { tools } = await client.listTools()
  for (const [name, args, says] of [
    ['bash', { command: 'cd .' }, /`cd` holds for this call alone/u],
    ['grep', { pattern: 'zzz' }, /no matches/iu],
    ['bash', { command: 'seq 1 60000' }, /All of it is in/u],
  ] as const) {
    // The client checks the data by the schema of the tool.
    expect(tools.find((tool) => tool.name === name)?.outputSchema).toBeDefined()
    const { data } = await call(name, args)
    expect(Object.keys(data as object)[0]).toBe('notes')
    expect((data as { notes: string[] }).notes.join()).toMatch(says)
  }
})

test('--max-output sets the limit, and tells Claude Code', async () => {
  const { root } = makeSandbox()
  const { client, call } = await connectTo(root, '2025', { args: ['--allow', 'bash', '--max-output', '400KB'] })
  const { text } = await call('bash', { command: 'seq 1 60000' })
  expect(text.split('\n')).toHaveLength(60_000)
  const { tools } = await client.listTools()
  expect(tools[0]).toMatchObject({ _meta: { 'anthropic/maxResultSizeChars': 500_000 } })
  for (const size of ['0', '1B', '1GB', 'much']) {
    const { code, stderr } = await runCli(['mcp', '--root', root, '--max-output', size])
    expect([code, stderr.includes('mcp: --max-output is a size')]).toEqual([2, true])
  }
})

test('a refused edit names the write, and a closed question what would allow it', async () => {
  const fixture = makeSandbox()
  fixture.put('a.txt', 'one\n')
  const edit = { path: 'a.txt', old_string: 'one', new_string: 'two' }
  const plain = await connectTo(fixture.root, '2025')
  expect((await plain.call('edit', edit)).text).toBe(
    `Permission denied: fs.write of \`${fixture.at('a.txt')}\` needs the agreement of a user, and this client cannot ask its user. Nothing was done. The person who set up the server can allow it with --allow 'edit:a.txt'. Do what is allowed, and say what was not.`,
  )
  const closing = await connectTo(fixture.root, '2025', { decide: () => 'cancel' })
  expect((await closing.call('edit', edit)).text).toBe(
    `Permission denied: fs.write of \`${fixture.at('a.txt')}\` needs the agreement of a user, and the client has closed the question without an answer, as clients do that nobody watches. Nothing was done. The person who set up the server can allow it with --allow 'edit:a.txt'. Do what is allowed, and say what was not.`,
  )
})
