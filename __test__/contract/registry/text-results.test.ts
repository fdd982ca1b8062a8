/** `createSession({ results: 'text' })`, and what results cost in tokens in both forms. */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { readFileSync, writeFileSync } from 'node:fs'
import { createSession } from 'toolwright/contract'
import { expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'

type Shown = { type: string; value: string }

async function open(results: 'json' | 'text' | undefined) {
  const box = makeSandbox()
  const source = Array.from({ length: 60 }, (_, line) => `export const value${line} = "${'x'.repeat(line % 7)}" // line ${line}\n`).join('')
  for (const name of ['a', 'b', 'c', 'd']) box.put(`src/${name}.ts`, source)
  const session = await createSession({
    workspace: box.root,
    manifest: { name: 'x' },
    host: { prompt: async () => 'allow_once' as const },
    ...(results !== undefined && { results }),
  })
  onTestFinished(() => session.close())
  const tools = session.tools as unknown as Record<string, { toModelOutput: (request: object) => Shown }>
  const shown = async (id: string, input: object): Promise<Shown> => {
    const output = await session.call(id, input)
    return tools[id]?.toModelOutput({ toolCallId: 'c', input, output }) ?? { type: '', value: '' }
  }
  return { shown, root: box.root }
}

test('a model reads lines, and the text of an error', async () => {
  const { shown } = await open('text')
  expect(await shown('bash', { command: 'echo one; echo two >&2; exit 3' })).toEqual({
    type: 'text',
    value: 'one\n[stderr]\ntwo\n[exit code 3]',
  })
  expect(await shown('glob', { pattern: '*.ts' })).toEqual({ type: 'text', value: 'src/a.ts\nsrc/b.ts\nsrc/c.ts\nsrc/d.ts' })
  expect((await shown('read', { path: 'src/a.ts' })).value).toMatch(/^export const value0 = ""/u)
  const missing = await shown('read', { path: 'src/e.ts' })
  expect(missing.type).toBe('error-text')
  expect(missing.value).toMatch(/^[^{]*src\/e\.ts/u)
})

test('by default it reads the envelope', async () => {
  const { shown } = await open(undefined)
  expect(JSON.parse((await shown('bash', { command: 'echo one' })).value)).toMatchObject({ type: 'output', data: { stdout: 'one\n' } })
  await expect(createSession({ workspace: [], manifest: { name: 'x' }, results: 'xml' as never })).rejects.toThrow(/results must be/u)
})

const calls: [what: string, id: string, input: object][] = [
  ['`read` of 60 lines', 'read', { path: 'src/a.ts' }],
  ['`grep` with 44 matches', 'grep', { pattern: 'line .1' }],
  ['`glob` of 4 files', 'glob', { pattern: '*.ts' }],
  ['`bash` that prints 20 lines', 'bash', { command: 'head -n 20 src/a.ts' }],
  ['`bash` that fails', 'bash', { command: 'echo oh >&2; exit 1' }],
]

/** `TOOLWRIGHT_WRITE_TABLES=1` writes the table anew. */
test('the table of the documentation has the tokens of both', async () => {
  const [json, text] = [await open('json'), await open('text')]
  const lines = await Promise.all(
    calls.map(async ([what, id, input]) => {
      // How long a call took has more or fewer digits.
      const plain = ({ value }: Shown): string => value.replace(/"duration_ms":\d+/u, '"duration_ms":10')
      const [one, other] = [plain(await json.shown(id, input)), plain(await text.shown(id, input))]
      return `| ${what} | ${countTokens(one)} | ${countTokens(other)} |`
    }),
  )
  const table = ["| result | `'json'` | `'text'` |", '| --- | --- | --- |', ...lines].join('\n')
  const path = new URL('../../../docs/contract.md', import.meta.url)
  const page = readFileSync(path, 'utf8')
  const [before, after] = page.split(/(?<=\n)\| result \| `'json'` \| `'text'` \|\n(?:\|.*\n)+/u)
  if (process.env['TOOLWRIGHT_WRITE_TABLES'] === '1') writeFileSync(path, `${before}${table}\n${after}`)
  else expect(page).toContain(table)
})
