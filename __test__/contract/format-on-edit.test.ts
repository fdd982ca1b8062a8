import { applyPatchTool, type Envelope, type SessionOptions } from 'toolwright/contract'
import { chmodSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { openScene } from './scene.ts'

/** A project whose formatter is a script of its own, in the place of Prettier. */
async function scene(script: string, options: Partial<SessionOptions> = {}) {
  const box = await openScene({ formatOnEdit: 'project', tools: [applyPatchTool], ...options })
  box.put('package.json', JSON.stringify({ devDependencies: { prettier: '3' } }))
  chmodSync(box.put('node_modules/.bin/prettier', `#!${process.execPath}\n${script}`), 0o755)
  return box
}

/** Two blanks become one, and the text ends with a line break. */
const tidy = `
let text = ''
process.stdin.on('data', (piece) => (text += piece)).on('end', () => process.stdout.write(text.replaceAll('  ', ' ').trimEnd() + '\\n'))
`

const dataOf = (envelope: Envelope): unknown => (envelope.type === 'output' ? envelope.data : envelope.error_text)

describe.skipIf(process.platform !== 'linux')("createSession({ formatOnEdit: 'project' })", () => {
  test('results of write, edit and apply_patch have the lines that differ, and the next edit fits', async () => {
    const { call, text } = await scene(tidy)
    expect(dataOf(await call('write', { path: 'src/a.ts', content: 'one\ntwo  2\nthree\n' }))).toMatchObject({
      notes: ['(prettier has formatted src/a.ts. Line 2 is now:)\ntwo 2'],
    })
    expect(text('src/a.ts')).toBe('one\ntwo 2\nthree\n')
    expect(dataOf(await call('edit', { path: 'src/a.ts', old_string: 'two 2', new_string: 'two  2\nand  a half' }))).toMatchObject({
      notes: ['(prettier has formatted src/a.ts. Lines 2 to 3 are now:)\ntwo 2\nand a half'],
    })
    const patch = '*** Begin Patch\n*** Add File: b.ts\n+b  b\n*** Add File: c.txt\n+c  c\n*** Delete File: src/a.ts\n*** End Patch'
    expect(dataOf(await call('apply_patch', { patch }))).toEqual({
      files: [
        { path: 'b.ts', change: 'add', notes: ['(prettier has formatted b.ts. Line 1 is now:)\nb b'] },
        { path: 'c.txt', change: 'add' },
        { path: 'src/a.ts', change: 'delete' },
      ],
    })
    expect([text('b.ts'), text('c.txt')]).toEqual(['b b\n', 'c  c\n'])
    expect(dataOf(await call('write', { path: 'b.ts', content: 'b b\n' }))).not.toHaveProperty('notes')
  })

  test('a formatter that refuses a text says why, and the file stays as it was written', async () => {
    const { call, text } = await scene(`process.stderr.write('a.ts: Unexpected token (1:3)\\n'); process.exit(2)`)
    expect(dataOf(await call('write', { path: 'a.ts', content: 'a  (\n' }))).toMatchObject({
      notes: ['(a.ts was not formatted: prettier: a.ts: Unexpected token (1:3))'],
    })
    expect(text('a.ts')).toBe('a  (\n')
  })

  test('a formatter writes nothing of the workspace, and has no network', async () => {
    const { call, text } = await scene(`
      const { writeFileSync } = require('node:fs')
      const tried = []
      for (const path of ['b.ts', 'node_modules/x']) { try { writeFileSync(path, 'x'); tried.push('wrote') } catch (error) { tried.push(error.code) } }
      require('node:net').connect(9, '1.1.1.1').on('error', (error) => process.stdout.write(tried.join() + ' ' + error.code + '\\n'))
      process.stdin.resume()
    `)
    await call('write', { path: 'a.ts', content: 'one\n' })
    expect(text('a.ts')).toMatch(/^(?:EROFS|EACCES|EPERM),(?:EROFS|EACCES|EPERM) (?:ENETUNREACH|EACCES|EPERM|ECONNREFUSED)\n$/u)
  })

  test('without the option, nothing is formatted', async () => {
    const { call, text } = await scene(tidy, { formatOnEdit: undefined })
    await call('write', { path: 'a.ts', content: 'one  1\n' })
    expect(text('a.ts')).toBe('one  1\n')
  })
})
