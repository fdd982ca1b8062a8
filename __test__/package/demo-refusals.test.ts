import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { KEY, makeDemoStage } from '../support/run-demo.ts'

// Most of the time they wait for the next try.
describe.concurrent('an OpenAI-compatible server', { timeout: 40_000 }, () => {
  test.for([
    ['refuses the key', { status: 401, message: 'Incorrect API key' }, /answered 401: Incorrect API key; check the key$/],
    ['breaks down', { status: 500, message: 'out of memory' }, /answered 500: out of memory \(tried 3 times\)$/],
    ['hangs up', { hangUp: true }, /did not answer: .+ \(tried 3 times\)$/],
  ] as const)('that %s ends the run with a sentence', async ([, reply, sentence], { expect, onTestFinished }) => {
    const fixture = makeDemoStage(onTestFinished)
    const run = await fixture.runServed(() => reply)
    expect(run.stderr.trim().split('\n')).toHaveLength(1)
    expect(run.stderr.trim()).toMatch(sentence)
    expect(run.stderr).not.toContain(KEY)
    expect(run.code).toBe(1)
    expect(fixture.leftovers()).toEqual([])
  })

  test('that never answers is given up at --timeout-ms', async ({ expect, onTestFinished }) => {
    const fixture = makeDemoStage(onTestFinished)
    const run = await fixture.runServed(() => ({ silent: true }), ['--timeout-ms', '1500'])
    expect(run.stderr.trim()).toBe('The run was given up after 1500 ms (--timeout-ms).')
    expect(run.code).toBe(1)
    expect(run.ms).toBeLessThan(10_000)
  })
})

describe('the command line', () => {
  test('--help explains itself', async () => {
    const run = await makeDemoStage().run(['--help'])
    expect(run).toMatchObject({ code: 0, stderr: '' })
    for (const option of ['--model', '--base-url', '--api-key-env', '--allow-network', '--keep', '--max-steps']) {
      expect(run.stdout).toContain(option)
    }
  })

  test.each([
    [['--frobnicate'], "Unknown option '--frobnicate'"],
    [['stray'], "Unexpected argument 'stray'"],
    [['--max-steps', 'many'], '--max-steps must be a whole number'],
    [['--model', 'gpt'], '--model must be PROVIDER/MODEL'],
    [['--base-url', 'http://127.0.0.1:1/v1'], '--base-url needs --model'],
    [['--base-url', 'nowhere', '--model', 'test'], '--base-url must be an http(s) address'],
    [['--base-url', 'http://127.0.0.1:1/v1', '--model', 'm', '--project', '/nonexistent'], '--project /nonexistent is not a directory'],
    [['--task', 'Do it.'], '--task and --project need --model'],
    [['--model', 'provider/model'], 'AI_GATEWAY_API_KEY'],
    [['--base-url', 'http://127.0.0.1:1/v1', '--model', 'm', '--api-key-env', 'DEMO_NO_KEY'], 'DEMO_NO_KEY'],
  ])('refuses %j in one sentence', async (args, sentence) => {
    const run = await makeDemoStage().run(args)
    expect(run.stderr).toContain(sentence)
    expect(run.stderr.trim().split('\n')).toHaveLength(1)
    expect(run.stdout).toBe('')
    expect(run.code).toBe(2)
  })
})

describe('an interruption', { timeout: 60_000 }, () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends the run and the command that is running', async (signal, code) => {
    const fixture = makeDemoStage()
    const seconds = `4${process.pid}.${code}`
    const { url } = await fixture.serve(() => ({ calls: [{ name: 'bash', input: { cmd: 'sleep', args: [seconds] } }] }))
    const { child, ended, printed } = fixture.start(['--base-url', url, '--model', 'test'])
    await printed(/#1 bash +sleep/)
    await waitFor(() => isRunning(seconds))

    const sent = Date.now()
    child.kill(signal)
    const run = await ended
    expect(Date.now() - sent).toBeLessThan(5_000)
    expect(run).toMatchObject({ code, signal: null })
    expect(run.stderr.trim()).toBe('Interrupted.')
    await waitFor(() => !isRunning(seconds))
    expect(fixture.leftovers()).toEqual([])
  })
})

/** Whether a process has `argument` among its arguments; true where there is no /proc to ask. */
function isRunning(argument: string): boolean {
  return readdirSync('/proc').some((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(join('/proc', pid, 'cmdline'), 'utf8')
        .split('\0')
        .includes(argument)
    } catch {
      return false // gone in the meantime
    }
  })
}

async function waitFor(holds: () => boolean): Promise<void> {
  if (!existsSync('/proc/self')) return
  for (let tries = 0; tries < 100; tries += 1) {
    if (holds()) return
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
  throw new Error(`still not: ${holds}`)
}
