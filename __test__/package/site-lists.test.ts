// What the package has, and what the documentation shows of it: the lists are the package's own, so that nothing new stays unsaid.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { codesOfPackage, commandsOfPackage, contractCodes, exportsOfPackage, optionsOfPackage } = (await import(
  '../../scripts/site/lists.mjs' as string
)) as {
  codesOfPackage(): Promise<{ tools: string[]; contract: string[] }>
  commandsOfPackage(): Map<string, string>
  contractCodes(): { code: string; meaning: string }[]
  exportsOfPackage(): Promise<Map<string, string[]>>
  optionsOfPackage(): Map<string, { option: string; meaning: string; byDefault: string }[]>
}

const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.md') && !file.startsWith('decisions/'))
  .map((file) => readFileSync(join(root, 'docs', file), 'utf8'))
const examples = pages.flatMap((page) => page.match(/^```[^]*?^```/gmu) ?? []).join('\n')
const has = (text: string, name: string): boolean => new RegExp(`(?<![\\w.])${name}(?!\\w)`, 'u').test(text)

test('every export is in an example of the documentation', async () => {
  const exported = await exportsOfPackage()
  expect(exported.size).toBeGreaterThanOrEqual(9)
  for (const [entry, names] of exported) {
    const unseen = names.filter((name) => !has(examples, name))
    expect(unseen, entry).toEqual([])
  }
})

test('every code has its section, or its line', async () => {
  const { tools, contract } = await codesOfPackage()
  const errors = readFileSync(join(root, 'docs/errors.md'), 'utf8')
  expect(tools.length).toBeGreaterThan(90)
  expect(tools.filter((code) => !errors.includes(`\n### ${code}\n`))).toEqual([])
  const described = contractCodes().map(({ code }) => code)
  expect(described.toSorted()).toEqual(contract)
  for (const { code, meaning } of contractCodes()) expect(meaning, code).toMatch(/\w/u)
})

test('every command has an example', () => {
  const commands = [...commandsOfPackage().keys()]
  expect(commands).toEqual(expect.arrayContaining(['calls', 'checkpoints', 'doctor', 'mcp', 'report', 'view']))
  expect(commands.filter((name) => !pages.some((page) => page.includes(`npx toolwright ${name}`)))).toEqual([])
})

describe('options', () => {
  const options = optionsOfPackage()

  test.each(['ToolOptions', 'SandboxOptions', 'SessionOptions', 'OpenJournalOptions', 'OpenCheckpointsOptions'])(
    '%s are listed',
    (name) => {
      expect(options.get(name)?.length).toBeGreaterThan(0)
    },
  )

  test('each says what it does', () => {
    const silent = [...options].flatMap(([name, list]) =>
      list.filter(({ meaning, byDefault }) => meaning === '' && byDefault === '').map(({ option }) => `${name}.${option}`),
    )
    expect(silent).toEqual([])
  })
})
