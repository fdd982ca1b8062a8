import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { lockedToolIds } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startOpenAIServer, type WireReply } from '../../support/openai-server.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const example = join(root, 'examples', 'contract', 'all-tools.mjs')

interface Run {
  code: number | null
  stdout: string
  stderr: string
  /** What it left in its temporary directory. */
  left: string[]
}

/** Runs the example in the runtime of these tests, with a temporary directory of its own. */
async function run(args: string[] = [], more: Record<string, string> = {}): Promise<Run> {
  const temporary = mkdtempSync(join(tmpdir(), 'toolwright-example-'))
  onTestFinished(() => rmSync(temporary, { recursive: true, force: true }))
  const { AI_GATEWAY_API_KEY: _, ...environment } = process.env
  const PATH = [join(root, 'node_modules', '.bin'), process.env['PATH']].join(delimiter)
  const child = spawn(process.execPath, [example, ...args], {
    cwd: root,
    env: { ...environment, PATH, TMPDIR: temporary, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 18_000,
    killSignal: 'SIGKILL',
  })
  const ended: Run = { code: null, stdout: '', stderr: '', left: [] }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (ended.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (ended.stderr += text))
  ended.code = await new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  ended.left = existsSync(temporary) ? readdirSync(temporary).filter((name) => name.startsWith('all-tools-')) : []
  return ended
}

describe('examples/contract/all-tools.mjs', () => {
  test('ends well, uses every tool, and leaves no workspace behind', async () => {
    const { code, stdout, stderr, left } = await run()
    expect(stderr).toBe('')
    expect(code).toBe(0)
    const lines = stdout.split('\n')
    for (const id of lockedToolIds)
      expect(
        lines.some((line) => line.startsWith(`${id} {`)),
        id,
      ).toBe(true)
    // What tool_search found, and what the subagent did.
    expect(stdout).toMatch(/^tracker_open_ticket \{.*\n {2}ok, /mu)
    expect(stdout).toMatch(/^ {4}read \{.*\n {6}ok, /mu)
    expect(lines.filter((line) => line !== '').at(-1)).toMatch(/^13 of 13 tools used, (\d+) calls, 0 failed, \1 replayed byte for byte$/u)
    expect(left).toEqual([])
  })

  test('a real model gets the same tools and the skill, and its key reaches no command', async () => {
    const replies: WireReply[] = [
      {
        calls: [
          { name: 'bash', input: { command: 'echo "key: ${TEST_KEY-none}"' } },
          { name: 'tool_search', input: { query: 'open a ticket' } },
        ],
      },
      {
        calls: [
          { name: 'tracker_open_ticket', input: { title: 'x' } },
          { name: 'task', input: { subagent_type: 'reviewer', prompt: 'Review.' } },
        ],
      },
      { text: 'Reviewed.' },
      { text: 'All done.' },
    ]
    const server = await startOpenAIServer((_, index) => replies[index] ?? { status: 400, message: 'no more' })
    onTestFinished(() => server.close())
    const args = ['--base-url', server.url, '--model', 'some-model', '--api-key-env', 'TEST_KEY']
    const { code, stdout, stderr, left } = await run(args, { TEST_KEY: 'sk-test-1' })
    expect(stderr).toBe('')
    expect(code).toBe(0)
    expect(server.requests.map(({ authorization, model }) => [authorization, model])).toEqual(
      replies.map(() => ['Bearer sk-test-1', 'some-model']),
    )
    const offered = server.requests.map(({ tools }) => tools.map(({ function: { name } }) => name).sort())
    expect(offered[0]).toEqual([...lockedToolIds].sort())
    expect(offered[1]).toEqual([...lockedToolIds, 'tracker_open_ticket'].sort())
    expect(offered[2]).toEqual(['glob', 'grep', 'read'])
    expect(JSON.stringify(server.requests[0]?.messages)).toContain('release')
    expect(stdout).toContain('All done.')
    expect(stdout).toContain('ticket 1: x')
    expect(stdout).toMatch(/^3 of 13 tools used, 4 calls, 0 failed, 4 replayed byte for byte$/mu)
    expect(stdout).not.toContain('sk-test-1')
    expect(left).toEqual([])
  })

  test('a model that fails is one line, and nothing is left behind', async () => {
    const server = await startOpenAIServer(() => ({ status: 400, message: 'no such model' }))
    onTestFinished(() => server.close())
    const { code, stderr, left } = await run(['--base-url', server.url, '--model', 'none'])
    expect(code).toBe(1)
    expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(/^The run failed: .*no such model/u)])
    expect(left).toEqual([])
  })

  test.each<[string, string[], RegExp]>([
    ['an address without a model', ['--base-url', 'http://127.0.0.1:1/v1'], /--base-url needs --model/u],
    ['a model without a key', ['--model', 'provider/name'], /AI_GATEWAY_API_KEY/u],
    ['an option that is none', ['--modle', 'x'], /--modle/u],
  ])('%s is said before anything is begun', async (_what, args, message) => {
    const { code, stdout, stderr, left } = await run(args)
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
    expect(stdout).toBe('')
    expect(left).toEqual([])
  })
})
