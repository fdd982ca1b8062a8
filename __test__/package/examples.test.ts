import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createThread } from 'toolwright/standard-agents'
import { describe, expect, onTestFinished, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const examples = join(root, 'examples')
/** The demo and the server have tests of their own, and tools are no programs. */
const programs = readdirSync(examples, { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.endsWith('.mjs') && !/(?:^|\/)(?:demo|tools|chat-approvals)\//u.test(path),
)

function directory(): string {
  const made = realpathSync(mkdtempSync(join(tmpdir(), 'toolwright-examples-')))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

interface Started {
  args?: string[]
  /** Loaded before. */
  before?: string
  cwd?: string
}

/** Runs an example in the runtime of these tests, with empty directories; without a key for a model. */
async function run(example: string, { args = [], before, cwd = directory() }: Started = {}) {
  const temporary = directory()
  const { AI_GATEWAY_API_KEY: _, ...environment } = process.env
  const preload = before === undefined ? [] : [process.versions['bun'] === undefined ? '--import' : '--preload', before]
  const child = spawn(process.execPath, [...preload, join(examples, example), ...args], {
    cwd,
    env: { ...environment, PATH: [join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter), TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 18_000,
    killSignal: 'SIGKILL',
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  // What the package itself shares among processes begins with its name.
  const leftovers = [...readdirSync(cwd), ...readdirSync(temporary).filter((name) => !name.startsWith('toolwright-'))]
  return { code, stdout, stderr, left: leftovers }
}

describe('examples', () => {
  test('they are found', () => {
    expect(programs).toEqual(expect.arrayContaining(['minimal-agent.mjs', 'contract/session.mjs', 'standard-agents/agent.mjs']))
  })

  test.each(programs)('%s leaves nothing behind where it is started, whether it ends well or not', async (example) => {
    const args = /^minimal-agent|^contract\/agent/u.test(example) ? [directory()] : []
    const { code, stderr, left: leftovers } = await run(example, { args })
    expect(leftovers, stderr).toEqual([])
    expect(code, stderr).not.toBeNull()
  })

  const before = fileURLToPath(new URL('../support/scripted-provider.ts', import.meta.url))

  test('standard-agents/agent.mjs answers, and leaves nothing behind', async () => {
    const { code, stdout, stderr, left: leftovers } = await run('standard-agents/agent.mjs', { before })
    expect({ code, left: leftovers }, stderr).toEqual({ code: 0, left: [] })
    expect(stdout).toContain('[answered]')
    expect(stdout.match(/^close_case: /gmu)).toHaveLength(1)
  })

  test('with a file its thread goes on', async () => {
    const cwd = directory()
    const again = { before, cwd, args: ['Where is my refund?', './kept.db'] }
    for (const closed of [1, 2]) {
      const { code, stdout, stderr } = await run('standard-agents/agent.mjs', again)
      expect(code, stderr).toBe(0)
      expect(stdout.match(/^close_case: /gmu)).toHaveLength(closed)
    }
    await using thread = await createThread({ tools: {}, store: `file:${join(cwd, 'kept.db')}`, threadId: 'customer-7' })
    expect((await thread.messages.list()).filter(({ toolName }) => toolName === 'close_case')).toHaveLength(2)
  })
})
