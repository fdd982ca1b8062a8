import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { lockedToolIds } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const example = join(root, 'examples', 'contract', 'all-tools.mjs')

interface Run {
  code: number | null
  stdout: string
  stderr: string
  /** What it left in its temporary directory. */
  left: string[]
}

/** Runs the example in the runtime of these tests, with a temporary directory of its own. */
async function run(args: string[] = []): Promise<Run> {
  const temporary = mkdtempSync(join(tmpdir(), 'toolwright-example-'))
  onTestFinished(() => rmSync(temporary, { recursive: true, force: true }))
  const { AI_GATEWAY_API_KEY: _, ...environment } = process.env
  const PATH = [join(root, 'node_modules', '.bin'), process.env['PATH']].join(delimiter)
  const child = spawn(process.execPath, [example, ...args], {
    cwd: root,
    env: { ...environment, PATH, TMPDIR: temporary },
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
    for (const id of lockedToolIds) expect(lines.some((line) => line.startsWith(`${id} {`)), id).toBe(true)
    // What tool_search found, and what the subagent did.
    expect(stdout).toMatch(/^tracker_open_ticket \{.*\n {2}ok, /mu)
    expect(stdout).toMatch(/^ {4}read \{.*\n {6}ok, /mu)
    expect(lines.filter((line) => line !== '').at(-1)).toMatch(/^13 of 13 tools used, (\d+) calls, 0 failed, \1 replayed byte for byte$/u)
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
