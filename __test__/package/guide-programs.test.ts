import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openJournal } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { startScript } from '../support/child-script.ts'
import { blockOf, codeBlocks } from '../support/code-blocks.ts'
import { makeFolder } from '../standard-agents/tool-folder.ts'

/** A model that writes a file, then says that it is done; also what the AI SDK finds for a model by its name. */
const model = `
import { ToolLoopAgent as Loop } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const turns = [
  { finishReason: { unified: 'tool-calls' }, content: [{ type: 'tool-call', toolCallId: '1', toolName: 'write', input: JSON.stringify({ path: 'fixed.txt', content: 'yes' }) }] },
  { finishReason: { unified: 'stop' }, content: [{ type: 'text', text: 'done' }] },
]
const model = new MockLanguageModelV4({ doGenerate: async () => ({ ...turns.shift(), usage, warnings: [] }) })
globalThis.AI_SDK_DEFAULT_PROVIDER = { specificationVersion: 'v4', languageModel: () => model }
`

/** The code block of a page that holds this, and nothing else does. */
function blockWith(page: string, text: string): string {
  const [block, ...others] = codeBlocks(page).filter(({ code }) => code.includes(text))
  expect([block?.code, others], `${page} has one block with ${text}`).toEqual([expect.any(String), []])
  return block?.code ?? ''
}

/** Runs a program in a directory with a `project` in it, or in that `project`, and gives what it prints. */
async function run(program: string, files: Record<string, string> = {}, inside = false): Promise<{ printed: string; folder: string }> {
  const folder = makeFolder({ ...files, [inside ? 'project/main.mjs' : 'main.mjs']: program })
  mkdirSync(join(folder, 'project'), { recursive: true })
  const { code, stdout, stderr } = await startScript('main.mjs', [], ['env', '-C', inside ? join(folder, 'project') : folder]).ended
  // The program lies in the root of its tools, and is told so when a command runs.
  const told = inside ? stderr.replace(/^\[toolwright\] commands may write .*\n/u, '') : stderr
  expect({ code, stderr: told }).toEqual({ code: 0, stderr: '' })
  return { printed: stdout.trim(), folder }
}

/** Runs a program of the first steps as it says: in the directory of a project. */
const runIn = (program: string, files: Record<string, string> = {}) => run(program, files, true)

const readme = '../README.md'
const start = 'getting-started.md'

describe('the programs of the README and of the first steps run as they are printed', () => {
  test('an agent with the tools', async () => {
    const { printed, folder } = await runIn(model + blockOf(readme, 'agent.mjs'))
    expect(printed).toBe('done')
    expect(readFileSync(join(folder, 'project/fixed.txt'), 'utf8')).toBe('yes')
  })

  test("an agent has a tool of one's own", async () => {
    const { printed } = await runIn(model + blockWith(start, 'shop.place_order'))
    expect(printed).toMatch(/^done Map(?:\(0\))? \{\}$/u)
    const own = blockWith(start, 'shop.place_order').split('const agent')[0] ?? ''
    const call =
      "import { runWithToolContext } from 'toolwright'\nconst called = await runWithToolContext({ runId: 'r', nodeId: 'n' }, () => placeOrder.execute({ sku: 'a' }))\nconsole.log(JSON.stringify(called))"
    expect(JSON.parse((await runIn(own + call)).printed)).toEqual({ sku: 'a', key: expect.stringMatching(/./u) })
  })

  test('a session of the contract, whose rule holds and whose user is asked', async () => {
    const after = "console.log((await session.call('write', { path: 'a.lock', content: '' })).metadata.code)\nawait session.close()"
    const { printed, folder } = await runIn(model + blockWith(start, "'**/*.lock'").replace('await session.close()', after))
    expect(printed).toMatch(/^write \[[^]*fixed\.txt[^]*\]\ndone\npermission_denied$/u)
    expect(readFileSync(join(folder, 'project/fixed.txt'), 'utf8')).toBe('yes')
  })

  test('a task is recorded', async () => {
    const { printed, folder } = await runIn(model + blockWith(start, 'task.prompt('))
    expect(printed).toBe('done')
    await using journal = await openJournal(`file:${join(folder, 'runs.db')}`)
    expect(await journal.listRun('run-7')).toMatchObject([{ nodeId: 'fix-tests', toolName: 'write', status: 'success' }])
  })
})

describe('the other programs of the first steps', () => {
  test('checkpoints: what changed, and undo', async () => {
    const { printed, folder } = await runIn(blockWith(start, 'openCheckpoints'), { 'project/a.txt': 'a' })
    expect(printed).toContain('notes.txt')
    expect(existsSync(join(folder, 'project/notes.txt'))).toBe(false)
  })

  test('the code of an error, and a tool without a model', async () => {
    expect((await runIn(blockWith(start, 'no-such-file'))).printed).toBe('TOOL_FILE_NOT_FOUND')
    expect((await runIn(blockWith(start, 'assert.equal'))).printed).toBe('text')
  })

  test('a host by name is reached, and another one is refused', async () => {
    const { printed } = await runIn(blockWith(start, 'registry.npmjs.org'))
    expect(printed).toMatch(/^registry\.npmjs\.org .+/u)
    expect(printed).toMatch(/^example\.com .*`example\.com`.*sandbox\.network\.allow/msu)
  })
})

describe('the programs of docs/contract.md', () => {
  const page = 'contract.md'
  const files = { 'project/README.md': 'one\ntwo\n' }

  test('a session, an agent and a call', async () => {
    const program = `${model}${blockWith(page, "session.call('read'")}console.log(JSON.stringify(envelope))`
    const { printed } = await run(program, files)
    expect(JSON.parse(printed)).toMatchObject({ type: 'output', data: { content: 'one\ntwo\n' }, metadata: { code: 'ok' } })
  })

  test("a tool of one's own, which passes the conformance suite", async () => {
    const tool = `import { defineContractTool } from 'toolwright/contract'\n${blockWith(page, 'const countLines')}`
    const call = `
import { createSession } from 'toolwright/contract'
await using session = await createSession({ workspace: 'project', tools: [countLines], manifest: { name: 'x', permissions: [{ permission: '*', pattern: '**', action: 'allow' }] } })
console.log(JSON.stringify(await session.call('count_lines', { path: 'README.md' })))`
    expect(JSON.parse((await run(tool + call, files)).printed)).toMatchObject({ type: 'output', data: 3 })

    // A loop in place of the test runner. It has a timer, as runners do, to wait for what holds no process open.
    const runner =
      'const busy = setInterval(() => undefined, 1_000)\nconst tests = []\nconst describe = (_, body) => body()\nconst test = (name, body) => tests.push([name, body])\n'
    const suite = blockWith(page, 'contractSuite(').replace("import { describe, test } from 'vitest'\n", runner)
    const loop = '\nfor (const [, body] of tests) await body()\nclearInterval(busy)\nconsole.log(tests.length > 5)'
    expect((await run(tool + suite + loop, files)).printed).toBe('true')
  })

  test('servers and subagents are configured', async () => {
    const servers = `${model}const token = 'token'\nconst ToolLoopAgent = Loop\nimport { createSession } from 'toolwright/contract'\n${blockWith(page, 'mcpServers')}await session.close()`
    await run(servers)
    const agents = `${model}import { createSession } from 'toolwright/contract'\nawait using session = await createSession({ workspace: '.',\n${blockWith(page, "name: 'reviewer'")}})\nconsole.log(JSON.stringify(await session.call('task', { subagent_type: 'nobody', prompt: 'x' })))`
    expect((await run(agents)).printed).toContain('reviewer')
  })

  test('a replay gives what was recorded', async () => {
    const record = `${model}
import { openJournal } from 'toolwright'
import { createSession, replaySession } from 'toolwright/contract'
const ToolLoopAgent = Loop
const prompt = 'x'
const again = structuredClone(turns)
await using journal = await openJournal('memory:')
const session = await createSession({ workspace: 'project', journal, manifest: { name: 'x', permissions: [{ permission: '*', pattern: '**', action: 'allow' }] } })
await new ToolLoopAgent({ model, tools: session.tools }).generate({ prompt })
await session.close()
const { id } = session
turns.push(...again)
`
    await run(`${record}${blockWith(page, 'replay.finish()')}`)
  })
})

test('the program of docs/contract-web.md: its hosts and rules allow what it fetches', async () => {
  // Nothing is looked up: the program ends where it would leave this machine.
  const before = `
import dns from 'node:dns/promises'
import { syncBuiltinESMExports } from 'node:module'
dns.lookup = async () => { throw Object.assign(new Error('no network'), { code: 'ENOTFOUND' }) }
syncBuiltinESMExports()
`
  const program = blockWith('contract-web.md', "session.call('web_fetch'").replace(/^await (?=session\.call)/mu, 'const envelope = await ')
  const { printed } = await run(`${before}${program}console.log(envelope.metadata.code)`)
  expect(printed).toBe('network_failed')
})
