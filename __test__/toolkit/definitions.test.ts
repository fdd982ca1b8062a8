/** What models are given of the tools: the same bytes for every user, checkout and machine, and their price in tokens. */
import { asSchema } from 'ai'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { createTools } from 'toolwright'
import { createSession } from 'toolwright/contract'
import { tools as documented } from 'toolwright/tools'
import { expect, onTestFinished, test } from 'vitest'
import { offeredTools } from '../../ts/mcp-server/tool-sessions.ts'
import { connectTo } from '../mcp-server/mcp-client.ts'
import { makeSandbox } from '../support/sandbox.ts'

interface Definition {
  name: string
  description: string
  parameters: unknown
}

/** The definitions of a set as providers send them. */
async function definitionsOf(tools: object): Promise<Definition[]> {
  const all = Object.entries(tools as Record<string, { description: string; inputSchema: never }>)
  return Promise.all(
    all.map(async ([name, { description, inputSchema }]) => {
      const { $schema: _, ...parameters } = (await asSchema(inputSchema).jsonSchema) as Record<string, unknown>
      return { name, description, parameters }
    }),
  )
}

function toolkits(rootDir: string) {
  const all = createTools({ rootDir, extraTools: ['apply_patch'], processes: true })
  onTestFinished(() => all[Symbol.asyncDispose]())
  return { five: createTools({ rootDir }), patch: createTools({ rootDir, extraTools: ['apply_patch'] }), all }
}

async function session(workspace: string) {
  const made = await createSession({ workspace, manifest: { name: 'x' }, host: { prompt: async () => 'allow_once' as const } })
  onTestFinished(() => made.close())
  return made.tools
}

/** What a client passes on to its model; it keeps the rest. */
async function ofServer(root: string, ids: readonly string[] = []): Promise<Definition[]> {
  const args = ids.length === 0 ? [] : ['--tools', ids.join(','), '--allow-network']
  const { client } = await connectTo(root, '2025', { args })
  const { tools } = await client.listTools()
  return tools.map(({ name, description = '', inputSchema }) => {
    const { $schema: _, ...parameters } = inputSchema
    return { name, description, parameters }
  })
}

test('definitions are the same bytes in every directory', async () => {
  const of = async (root: string): Promise<string> =>
    JSON.stringify([await definitionsOf(toolkits(root).all), await definitionsOf(await session(root)), await ofServer(root)])
  const [one, other] = await Promise.all([of(makeSandbox().root), of(makeSandbox().root)])
  expect(one).toBe(other)
  expect(one).not.toContain(process.env['HOME'])
  expect(one).not.toContain('/tmp/')
})

/** Prints the definitions of a set and of a session in a directory. */
const printed = `
  const [root, entry, contract, ai] = process.argv.slice(-4)
  Promise.all([entry, contract, ai].map((file) => import(file))).then(async ([{ createTools }, { createSession }, { asSchema }]) => {
    const session = await createSession({ workspace: root, manifest: { name: 'x' }, host: { prompt: async () => 'allow_once' } })
    const all = { ...session.tools, ...createTools({ rootDir: root, extraTools: ['apply_patch'] }) }
    const made = Object.entries(all).map(async ([name, { description, inputSchema }]) => [name, description, await asSchema(inputSchema).jsonSchema])
    console.log(JSON.stringify(await Promise.all(made)))
    await session.close()
  })`

test('and for every user, language and time zone', async () => {
  const modules = ['../../dist/index.js', '../../dist/contract.js'].map((path) => new URL(path, import.meta.url).href)
  const of = async (user: string, lang: string, zone: string): Promise<string> => {
    const { root, outside } = makeSandbox()
    const env = { ...process.env, HOME: outside, USER: user, LOGNAME: user, LANG: lang, LC_ALL: lang, TZ: zone, XDG_CONFIG_HOME: outside }
    const args = ['-e', printed, '--', root, ...modules, import.meta.resolve('ai')]
    return (await promisify(execFile)(process.execPath, args, { env, cwd: root })).stdout
  }
  const [one, other] = await Promise.all([of('ann', 'C', 'UTC'), of('bob', 'de_DE.UTF-8', 'Asia/Tokyo')])
  expect(one).toBe(other)
  expect(JSON.parse(one).length).toBeGreaterThan(7)
})

const tokens = (all: readonly Definition[]): number => countTokens(JSON.stringify(all.map((one) => ({ type: 'function', ...one }))))

/** `TOOLWRIGHT_WRITE_TABLES=1` writes the table anew. */
test('the table of the documentation has their tokens', async () => {
  const { root } = makeSandbox()
  const { five, patch, all } = toolkits(root)
  const rows: [door: string, definitions: Definition[]][] = [
    ['`createTools`', await definitionsOf(five)],
    ["`createTools`, `extraTools: ['apply_patch']`", await definitionsOf(patch)],
    ["`createTools`, `extraTools: ['apply_patch']`, `processes: true`", await definitionsOf(all)],
    ['`toolwright/tools`', await definitionsOf(documented)],
    ['`toolwright/contract`, what a session without servers and skills offers', await definitionsOf(await session(root))],
    ['`toolwright mcp`', await ofServer(root)],
    ['`toolwright mcp` with every tool', await ofServer(root, offeredTools)],
  ]
  const lines = rows.map(([door, made]) => `| ${door} | ${made.length} | ${tokens(made).toLocaleString('en')} |`)
  const table = ['| door | tools | tokens |', '| --- | --- | --- |', ...lines].join('\n')
  const path = new URL('../../docs/tools.md', import.meta.url)
  const text = readFileSync(path, 'utf8')
  const [before, after] = text.split(/(?<=\n)\| door \| tools \| tokens \|\n(?:\|.*\n)+/u)
  if (process.env['TOOLWRIGHT_WRITE_TABLES'] === '1') writeFileSync(path, `${before}${table}\n${after}`)
  else expect(text).toContain(table)
})
