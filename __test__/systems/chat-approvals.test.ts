import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { openJournal } from 'toolwright'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { chromiumPath } from '../support/chromium.ts'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'

const root = join(import.meta.dirname, '../..')
const node = join(root, 'node_modules/.bin/node')

/** The page in a real browser. Debian: `apt install chromium`. */
describe.skipIf(chromiumPath === undefined)('examples/chat-approvals, in Chromium', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: chromiumPath as string, args: ['--no-sandbox'] })
  }, 60_000)
  afterAll(() => browser?.close())

  async function startServer({ root: workspace, outside }: Sandbox, port = 0): Promise<{ child: ChildProcess; url: string }> {
    const env = { ...process.env, PORT: String(port), AI_GATEWAY_API_KEY: '' }
    const child = spawn(node, [join(root, 'examples/chat-approvals/server.mjs'), workspace, join(outside, 'data')], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [line] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
    return { child, url: String(line).trim() }
  }

  async function openChat() {
    const fixture = makeSandbox()
    const server = await startServer(fixture)
    const context = await browser.newContext()
    onTestFinished(() => context.close())
    const page = await context.newPage()
    const troubles: string[] = []
    page.on('pageerror', (error) => troubles.push(String(error)))
    await page.goto(server.url)
    return { fixture, page, server, troubles }
  }

  async function say(page: Page, text: string): Promise<void> {
    await page.getByLabel('Message').fill(text)
    await page.keyboard.press('Enter')
  }

  const call = (page: Page, n: number) => page.getByRole('article', { name: `write note-${n}.txt`, exact: true }).last()
  const press = (page: Page, n: number, name: 'Allow' | 'Deny') => call(page, n).getByRole('button', { name }).click()
  const saysLast = (page: Page, text: string) => page.getByText(text).last().waitFor()

  /** The calls of the journal: what each was about, and how it ended. */
  async function rowsOf({ outside }: Sandbox): Promise<string[]> {
    const journal = await openJournal(`file:${outside}/data/calls.db`)
    const [run] = await journal.listRuns()
    const rows = (await journal.listRun(run?.runId ?? '')).filter(({ nodeId }) => nodeId === 'contract')
    await journal.close()
    return rows.map(({ inputJson, status, errorJson }) => {
      const { path } = JSON.parse(inputJson ?? '{}') as { path?: string }
      return `${path} ${(JSON.parse(errorJson ?? '{}') as { code?: string }).code ?? status}`
    })
  }

  test('one call is allowed, the next one denied', async () => {
    const { fixture, page, troubles } = await openChat()
    await say(page, 'Write a note.')
    await press(page, 1, 'Allow')
    await saysLast(page, '1 of 1 notes are written.')
    expect(fixture.text('note-1.txt')).toBe('This is note 1.\n')
    fixture.put('note-1.txt', 'kept')
    await say(page, 'Again.')
    await press(page, 1, 'Deny')
    await saysLast(page, '0 of 1 notes are written.')
    expect(fixture.text('note-1.txt')).toBe('kept')
    expect(await rowsOf(fixture)).toEqual(['note-1.txt success', 'note-1.txt permission_rejected'])
    expect(troubles).toEqual([])
  }, 60_000)

  test('five calls of one step, the page reloaded and the server restarted in between: a row for each', async () => {
    const { fixture, page, server, troubles } = await openChat()
    await say(page, 'Write five notes.')
    await press(page, 1, 'Allow')
    await press(page, 2, 'Deny')
    await page.reload()
    await call(page, 3).getByRole('button', { name: 'Allow' }).waitFor()
    server.child.kill('SIGKILL')
    await once(server.child, 'exit')
    await startServer(fixture, Number(new URL(server.url).port))
    await press(page, 3, 'Allow')
    await press(page, 4, 'Deny')
    expect(existsSync(fixture.at('note-1.txt'))).toBe(false)
    await press(page, 5, 'Allow')
    await saysLast(page, '3 of 5 notes are written.')
    expect([1, 2, 3, 4, 5].map((n) => existsSync(fixture.at(`note-${n}.txt`)))).toEqual([true, false, true, false, true])
    const outcomes = [1, 2, 3, 4, 5].map((n) => `note-${n}.txt ${n % 2 === 1 ? 'success' : 'permission_rejected'}`)
    expect((await rowsOf(fixture)).sort()).toEqual(outcomes)
    expect(troubles).toEqual([])
  }, 60_000)

  test('what the page says is not believed: other arguments are refused', async () => {
    const { fixture, page } = await openChat()
    await say(page, 'Write a note.')
    await call(page, 1).getByRole('button', { name: 'Allow' }).waitFor()
    await page.evaluate(() => {
      localStorage['messages'] = String(localStorage['messages']).replaceAll('This is note 1.', 'Something else.')
    })
    await page.reload()
    await press(page, 1, 'Allow')
    await page.getByRole('alert').waitFor()
    expect(existsSync(fixture.at('note-1.txt'))).toBe(false)
  }, 60_000)
})
