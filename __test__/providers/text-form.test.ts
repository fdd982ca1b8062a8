/** Line endings and byte order marks through the editor and the memory. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { providerExecutors } from 'toolwright/providers'
import { afterAll, expect, test } from 'vitest'

const root = mkdtempSync(join(tmpdir(), 'toolwright-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const run = providerExecutors({ rootDir: root, memoryDir: root })
const file = join(root, 'file')
const read = (): string => readFileSync(file, 'utf8')

const doors = {
  editor: (input: object) => run.anthropic.textEditor({ path: 'file', ...input } as never),
  memory: (input: object) => run.anthropic.memory({ path: '/memories/file', ...input } as never),
}

for (const [name, edit] of Object.entries(doors)) {
  test(`${name}: lines of CRLF are replaced as they are shown`, async () => {
    writeFileSync(file, 'one\r\ntwo\r\nthree\r\n')
    await edit({ command: 'str_replace', old_str: 'one\ntwo', new_str: '1\n1.5\n2' })
    expect(read()).toBe('1\r\n1.5\r\n2\r\nthree\r\n')
    await edit({ command: 'insert', insert_line: 1, insert_text: 'new\n' })
    expect(read()).toBe('1\r\nnew\r\n1.5\r\n2\r\nthree\r\n')
  })

  test(`${name}: a byte order mark stays in front`, async () => {
    writeFileSync(file, '\uFEFFone\n')
    await edit({ command: 'insert', insert_line: 0, insert_text: 'zero\n' })
    expect(read()).toBe('\uFEFFzero\none\n')
    await edit({ command: 'str_replace', old_str: 'zero\n', new_str: '' })
    expect(read()).toBe('\uFEFFone\n')
  })

  test(`${name}: every line keeps its end, whatever is changed`, async () => {
    const ends = ['\n', '\r\n']
    for (let seed = 0; seed < 64; seed += 1) {
      const lines = [...'abcdef'].map((text, index) => ({ text, end: ends[(seed >> index) & 1] as string }))
      const mark = seed % 3 === 0 ? '\uFEFF' : ''
      writeFileSync(file, mark + lines.map(({ text, end }) => text + end).join(''))
      await edit({ command: 'str_replace', old_str: 'c\nd\n', new_str: 'C\nD\n' })
      const changed = lines.map(({ text, end }) => (text === 'c' || text === 'd' ? text.toUpperCase() : text) + end)
      expect(read()).toBe(mark + changed.join(''))
    }
  })
}
