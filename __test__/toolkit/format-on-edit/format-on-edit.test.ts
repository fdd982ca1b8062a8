import { createTools } from 'toolwright'
import { chmodSync, existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'

const oxfmt = resolve(import.meta.dirname, '../../../node_modules/oxfmt')

/** A project whose formatter is a script of its own, in the place of Prettier. */
function scene(script: string, dependencies: Record<string, string> = { prettier: '3' }) {
  const box = makeSandbox()
  box.put('package.json', JSON.stringify({ devDependencies: dependencies }))
  chmodSync(box.put('node_modules/.bin/prettier', `#!${process.execPath}\n${script}`), 0o755)
  const tools = createTools({ rootDir: box.root, formatOnEdit: 'project', extraTools: ['apply_patch'] })
  let calls = 0
  const call = async (name: 'write' | 'edit' | 'apply_patch', input: Record<string, unknown>): Promise<string> => {
    const tool = tools[name] as unknown as {
      execute(input: unknown, options: unknown): Promise<string>
      toModelOutput?(request: unknown): { value: string }
    }
    const toolCallId = `call-${(calls += 1)}`
    const output = await tool.execute(input, { toolCallId, messages: [] })
    return tool.toModelOutput === undefined ? output : tool.toModelOutput({ toolCallId, input, output }).value
  }
  return { ...box, call }
}

/** Two blanks become one, and the text ends with a line break. */
const tidy = `
let text = ''
process.stdin.on('data', (piece) => (text += piece)).on('end', () => process.stdout.write(text.replaceAll('  ', ' ').trimEnd() + '\\n'))
`

describe.skipIf(process.platform !== 'linux')("createTools({ formatOnEdit: 'project' })", () => {
  test('write, edit and apply_patch tell the lines that differ from what was written', async () => {
    const { call, text } = scene(tidy)
    expect(await call('write', { path: 'a.ts', content: 'one\ntwo  2\nthree\n' })).toBe(
      'ok\n(prettier has formatted a.ts. Line 2 is now:)\ntwo 2',
    )
    expect(text('a.ts')).toBe('one\ntwo 2\nthree\n')
    expect(await call('edit', { path: 'a.ts', patch: '@@ -1,2 +1,3 @@\n-one\n+one  1\n+and  a half\n two 2\n' })).toBe(
      'ok\nApplied at line 1.\n(prettier has formatted a.ts. Lines 1 to 2 are now:)\none 1\nand a half',
    )
    const patch = '*** Begin Patch\n*** Add File: b.ts\n+b  b\n*** Add File: c.txt\n+c  c\n*** Delete File: a.ts\n*** End Patch'
    expect(await call('apply_patch', { patch })).toBe(
      'Success. Updated the following files:\nA b.ts\nA c.txt\nD a.ts\n(prettier has formatted b.ts. Line 1 is now:)\nb b',
    )
    expect(text('c.txt')).toBe('c  c\n')
  })

  test('an edit of formatted lines fits, and a text that is formatted already is not told', async () => {
    const { call } = scene(tidy)
    await call('write', { path: 'a.ts', content: 'one  1\n' })
    expect(await call('edit', { path: 'a.ts', patch: '@@ -1 +1 @@\n-one 1\n+two 2\n' })).toBe('ok\nApplied at line 1.')
  })

  test('a formatter that refuses a text says why, and the file stays as it was written', async () => {
    const { call, text } = scene(`process.stderr.write('\\u001b[31m[error]\\u001b[0m a.ts: Unexpected token (1:3)\\n'); process.exit(2)`)
    expect(await call('write', { path: 'a.ts', content: 'a  (\n' })).toBe(
      'ok\n(a.ts was not formatted: prettier: [error] a.ts: Unexpected token (1:3))',
    )
    expect(text('a.ts')).toBe('a  (\n')
  })

  test('hostile formatters change nothing', async () => {
    const cases: [string, RegExp][] = [
      [`process.stdout.write('x'.repeat(5_000_000)); setInterval(() => {}, 1000)`, /prints more than a formatted text/u],
      ['', /it printed nothing/u],
      ['process.stdout.write(Buffer.from([0xff, 0xfe]))', /no UTF-8/u],
      [`process.kill(process.pid, 'SIGKILL')`, /SIGKILL/u],
      [
        `require('node:fs').writeFileSync('a.ts', 'planted'); process.stdout.write('mine\\n')`,
        /not formatted: prettier: the file has changed meanwhile/u,
      ],
    ]
    for (const [script, expected] of cases) {
      const { call } = scene(script)
      // eslint-disable-next-line no-await-in-loop -- one after the other
      expect(await call('write', { path: 'a.ts', content: 'a\n' }), script).toMatch(expected)
    }
  })

  test('a formatter has no network, reaches nothing outside, and leaves no process', async () => {
    const { call, root } = scene(`
      const found = []
      try { require('node:fs').readFileSync(${JSON.stringify(join(process.env['HOME'] ?? '/root', '.ssh/id'))}) } catch (error) { found.push(error.code) }
      require('node:net').connect(80, '1.1.1.1').on('error', (error) => { found.push(error.code); process.stdout.write(found.join(' ') + '\\n'); process.exit(0) })
    `)
    await call('write', { path: 'a.ts', content: 'a\n' })
    expect(readFileSync(join(root, 'a.ts'), 'utf8')).toMatch(/^(?:ENOENT|EACCES) E[A-Z]+\n$/u)
  })

  test('a project without a formatter, and a formatter that the project does not list, format nothing', async () => {
    const { call, text } = scene(tidy, {})
    expect(await call('write', { path: 'a.ts', content: 'a  b\n' })).toBe('ok')
    expect(text('a.ts')).toBe('a  b\n')
  })

  test.skipIf(!existsSync(oxfmt))('a real formatter formats', async () => {
    const { call, text, root } = scene(tidy, { oxfmt: '*' })
    symlinkSync(resolve(oxfmt, '../.bin/oxfmt'), join(root, 'node_modules/.bin/oxfmt'))
    expect(await call('write', { path: 'a.ts', content: 'export const a={b:1}\n' })).toMatch(/oxfmt has formatted a\.ts/u)
    expect(text('a.ts')).toMatch(/^export const a = \{ b: 1 \};?\n$/u)
  })

  test('an option that is none is refused', () => {
    expect(() => createTools({ formatOnEdit: 'always' as never })).toThrow(/formatOnEdit/u)
  })
})
