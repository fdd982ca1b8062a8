// The programs of docs/guides and of the other pages that a new user reads, as they are printed.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openJournal } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { codeBlocks } from '../support/code-blocks.ts'
import { guideFolder, runGuide, startGuide } from '../support/guide-program.ts'
import { runCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'

const isBun = process.versions['bun'] !== undefined
const isProgram = /^(?:[cm]?[jt]sx?)$/u
const call = (tool: string, input: object): string => JSON.stringify({ tool, input })

/** What tests below run, or load where there is nothing to be seen of it. */
const run: Record<string, string[]> = {
  'guides/terminal-agent.md': ['agent.mjs', 'local-model.mjs', 'asking-agent.mjs'],
  'guides/nextjs-approvals.md': ['next.config.ts', 'app/api/chat/route.ts', 'approval.ts', 'always.ts'],
  'guides/testing-with-vitest.md': ['tools.test.mjs', 'scripted-model.ts', 'fixer.ts', 'fixer.test.ts'],
  'guides/server.md': ['server.mjs', 'check-host.mjs', 'handler.ts'],
  'guides/deployment.md': ['tools.mjs'],
  'bundlers.md': ['next.config.mjs', 'webpack.config.mjs'],
  'guides/processes.md': ['dev-server.mjs'],
  'guides/crash-safe-journal.md': ['pay.mjs', 'agent-task.mjs'],
  'troubleshooting.md': ['next.config.mjs', 'tools.mjs', 'close-by-hand.mjs'],
}
/** What needs a browser, a bundler or a platform package. All of it is compiled by `npm run check`. */
const compiledOnly: Record<string, string[]> = {
  'guides/nextjs-approvals.md': ['app/page.tsx'],
  'bundlers.md': ['copy-addon.mjs', 'nitro.config.mjs', 'sea.cjs'],
}

test.each(Object.keys(run))('%s: every program of it is run or known not to be', (page) => {
  const printed = codeBlocks(page).flatMap(({ language, path }) => (isProgram.test(language) ? [path] : []))
  expect(printed.toSorted()).toEqual([...(run[page] ?? []), ...(compiledOnly[page] ?? [])].toSorted())
})

test.each([
  ['guides/terminal-agent.md', 'local-model.mjs'],
  ['guides/nextjs-approvals.md', 'next.config.ts'],
  ['guides/nextjs-approvals.md', 'approval.ts'],
  ['guides/nextjs-approvals.md', 'always.ts'],
  ['bundlers.md', 'next.config.mjs'],
  ['bundlers.md', 'webpack.config.mjs'],
  ['guides/deployment.md', 'tools.mjs'],
  ['troubleshooting.md', 'next.config.mjs'],
  ['troubleshooting.md', 'tools.mjs'],
])('%s: %s loads', async (page, path) => {
  // The directory that its tools work in.
  const folder = guideFolder(page, { 'project/a.txt': '' })
  expect(await runGuide(folder, path)).toEqual({ code: 0, stdout: '', stderr: '' })
})

test('a journal that is closed by hand', async () => {
  expect(await runGuide(guideFolder('troubleshooting.md'), 'close-by-hand.mjs')).toEqual({ code: 0, stdout: '[]\n', stderr: '' })
})

test('a server that goes on is found, fetched and stopped', async () => {
  const folder = guideFolder('guides/processes.md')
  const stdout = 'p1 true ready true\nhello\nfalse SIGKILL\n'
  expect(await runGuide(folder, 'dev-server.mjs', { args: [folder] })).toEqual({ code: 0, stdout, stderr: '' })
})

describe('the terminal agent', () => {
  const page = 'guides/terminal-agent.md'

  test('streams what a command prints, and the text', async () => {
    const folder = guideFolder(page)
    const asked = call('bash', { cmd: 'sh', args: ['-c', 'echo one; sleep 0.3; echo two'] })
    const { code, stdout, stderr } = await runGuide(folder, 'agent.mjs', { args: [asked, folder] })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/▸ bash .*one[^]*✔ 8 characters[^]*done: one\ntwo/u)
  })

  test('^C stops the command', async () => {
    const folder = guideFolder(page)
    const { child, ended, printed } = startGuide(folder, 'agent.mjs', { args: [call('bash', { cmd: 'sleep', args: ['60'] }), folder] })
    await printed('▸ bash')
    child.kill('SIGINT')
    const { stdout } = await ended
    expect(stdout).toContain('stopped')
  })

  test('the asking one asks', async () => {
    const folder = guideFolder(page)
    const asked = call('write', { path: 'new.txt', content: 'x' })
    const { child, ended, printed } = startGuide(folder, 'asking-agent.mjs', { args: [asked, folder] })
    await printed('[n]o')
    child.stdin.write('y\n')
    const { code, stdout, stderr } = await ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/write .*new\.txt/u)
    expect(readFileSync(join(folder, 'new.txt'), 'utf8')).toBe('x')
  })
})

test('the route of Next.js asks in the browser, and makes the call that was approved', async () => {
  // What `useChat` does: it sends messages, and with an answer the same ones again.
  const client = `
import { DefaultChatTransport, isToolUIPart, readUIMessageStream } from 'ai'
import { POST } from './app/api/chat/route.ts'
const transport = new DefaultChatTransport({ api: 'http://localhost/api/chat', fetch: (url, init) => POST(new Request(url, init)) })
const user = { id: '1', role: 'user', parts: [{ type: 'text', text: process.argv[2] }] }
async function send(messages) {
  let last = messages.at(-1).role === 'assistant' ? messages.at(-1) : undefined
  const stream = await transport.sendMessages({ chatId: 'c', messages, trigger: 'submit-message', messageId: undefined })
  for await (const message of readUIMessageStream({ stream, message: last })) last = message
  return last
}
let asked
for (const approved of [false, true]) {
  asked = await send([user])
  const parts = asked.parts.map((part) => isToolUIPart(part) ? { ...part, state: 'approval-responded', approval: { ...part.approval, approved } } : part)
  const answered = await send([user, { ...asked, parts }])
  console.log(JSON.stringify([asked, answered].map(({ parts }) => parts.find(isToolUIPart).state)))
}
const forged = asked.parts.map((part) => isToolUIPart(part) ? { ...part, input: { path: 'forged.txt', content: '' }, state: 'approval-responded', approval: { ...part.approval, approved: true } } : part)
await send([user, { ...asked, parts: forged }]).catch(() => {})
`
  const folder = guideFolder('guides/nextjs-approvals.md', { 'client.mjs': client })
  const env = { PROJECT_DIR: folder, JOURNAL: `file:${makeSandbox().outside}/calls.db`, TOOL_APPROVAL_SECRET: 'secret' }
  const { stdout, code } = await runGuide(folder, 'client.mjs', { args: [call('write', { path: 'new.txt', content: 'x' })], env })
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([
    ['approval-requested', 'output-denied'],
    ['approval-requested', 'output-available'],
  ])
  expect(readFileSync(join(folder, 'new.txt'), 'utf8')).toBe('x')
  expect([existsSync(join(folder, 'forged.txt')), code]).toEqual([false, 0])
})

test.skipIf(isBun)(
  'the tests of the vitest guide pass',
  () => {
    const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))
    const folder = guideFolder('guides/testing-with-vitest.md')
    // The names of files are given: what is excluded by default may be where this repository puts the folder.
    writeFileSync(join(folder, 'vitest.config.mjs'), "export default { test: { include: ['*.test.*'], exclude: [] } }\n")
    const { TOOLWRIGHT_TEST_RUNTIME: _, VITEST: __, ...env } = process.env
    const printed = execFileSync(process.execPath, [vitest, 'run', '--root', folder], {
      cwd: folder,
      env: { ...env, NO_COLOR: '1' },
      encoding: 'utf8',
    })
    expect(printed).toMatch(/Tests {2}3 passed/u)
  },
  60_000,
)

describe('the server', () => {
  const page = 'guides/server.md'
  const message = (text: string): string => JSON.stringify({ messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text }] }] })

  /** A port that is free now. */
  async function freePort(): Promise<number> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    await new Promise((resolve) => server.close(resolve))
    return port
  }

  test('serves 20 agents at once, records them, stops those whose client leaves, and ends', async () => {
    const folder = guideFolder(page)
    mkdirSync(join(folder, 'project'))
    const port = await freePort()
    const { child, ended, printed } = startGuide(folder, 'server.mjs', { env: { PORT: String(port) } })
    onTestFinished(() => void child.kill('SIGKILL'))
    await printed('listening')
    const ask = (id: string, text: string, signal: AbortSignal | null = null) =>
      fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: message(text), headers: { 'x-run-id': id }, signal })

    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => (await ask(`run-${n}`, call('bash', { cmd: 'echo', args: [`answer ${n}`] }))).text()),
    )
    for (const [n, text] of answers.entries()) expect(text).toContain(`done: answer ${n}\\n`)

    const leaving = new AbortController()
    const left = await ask('left', call('bash', { cmd: 'sh', args: ['-c', 'echo begun > begun; sleep 60'] }), leaving.signal)
    await expect.poll(() => existsSync(join(folder, 'project/begun'))).toBe(true)
    leaving.abort()
    await expect(left.text()).rejects.toThrow()
    {
      await using journal = await openJournal(`file:${join(folder, 'runs.db')}`, { readOnly: true })
      await expect.poll(async () => (await journal.listRun('left')).map(({ status }) => status), { timeout: 5_000 }).toEqual(['unknown'])
      expect((await journal.listRuns()).map(({ runId }) => runId).toSorted()).toEqual(
        [...Array.from({ length: 20 }, (_, n) => `run-${n}`), 'left'].toSorted(),
      )
    }
    child.kill('SIGTERM')
    const { code, stderr } = await ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  }, 40_000)

  test('what cannot be read is answered by 400', async () => {
    const folder = guideFolder(page)
    const port = await freePort()
    mkdirSync(join(folder, 'project'))
    const { child, printed } = startGuide(folder, 'server.mjs', { env: { PORT: String(port) } })
    onTestFinished(() => void child.kill('SIGKILL'))
    await printed('listening')
    expect((await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: 'no JSON' })).status).toBe(400)
  })

  test('its check of the host prints the report', async () => {
    const { code, stdout } = await runGuide(guideFolder(page), 'check-host.mjs')
    expect(stdout).toMatch(/^sandbox: /u)
    expect([0, 1]).toContain(code)
  })

  test('a handler of requests answers', async () => {
    const caller =
      "import { handle } from './handler.ts'\nconst response = await handle(new Request('http://localhost/chat', { method: 'POST', body: process.argv[2] }))\nconsole.log(await response.text())\n"
    const folder = guideFolder(page, { 'caller.mjs': caller, 'project/a.txt': 'content' })
    const { stdout } = await runGuide(folder, 'caller.mjs', { args: [message(call('read', { path: 'a.txt' }))] })
    expect(stdout).toContain('done: content')
  })
})

describe('the journal that survives a crash', () => {
  const page = 'guides/crash-safe-journal.md'

  test('a killed process is told of, and nothing is paid twice', async () => {
    const folder = guideFolder(page)
    const { child, ended, printed } = startGuide(folder, 'pay.mjs', { args: ['slow'] })
    await printed('A-1: paid, waiting for the bank')
    child.kill('SIGKILL')
    await ended
    const shown = await runCli(['calls', 'runs.db'], { cwd: folder })
    expect(shown.stdout).toContain('shop.pay')

    const { code, stdout, stderr } = await runGuide(folder, 'pay.mjs')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [expected] = codeBlocks(page).filter(({ language }) => language === 'text')
    // What the page leaves out stands for any lines.
    const pattern = (expected?.code ?? '')
      .split('…\n')
      .map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/gu, '\\$&'))
      .join('[^]*')
    expect(stdout).toMatch(new RegExp(`^${pattern}$`, 'u'))
    expect(readFileSync(join(folder, 'payments.txt'), 'utf8').trim().split('\n')).toHaveLength(2)
  })

  test('an agent in a task is recorded', async () => {
    const folder = guideFolder(page)
    const { code, stderr } = await runGuide(folder, 'agent-task.mjs', {
      env: { OBEDIENT_CALL: call('write', { path: 'a.txt', content: 'x' }) },
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    await using journal = await openJournal(`file:${join(folder, 'runs.db')}`)
    expect(await journal.listRun('march')).toMatchObject([{ nodeId: 'fix', toolName: 'write', status: 'success' }])
  })
})

test('the import of the migration page has what it names', async () => {
  const [block] = codeBlocks('migration-from-smithers.md')
  const folder = guideFolder('migration-from-smithers.md', { 'main.mjs': block?.code ?? '' })
  const { code, stdout } = await runGuide(folder, 'main.mjs')
  expect(code).toBe(0)
  expect(stdout.replaceAll(/["'\s]/gu, '')).toBe('[read,write,edit,grep,bash]5function')
})
