import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openJournal } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { packReport } from '../../ts/report/make-report.ts'
import { pageHtml } from '../../ts/report/page-html.ts'
import { loginDiffs, writeLoginRun } from '../report/login-run.ts'
import { HOSTILE, START, writeRun } from '../report/recorded-run.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { chromiumPath } from '../support/chromium.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { ReportBrowser, rows, seriousFaults } from './report-browser.ts'

/** The page in a real browser. Debian: `apt install chromium`. */
describe.skipIf(chromiumPath === undefined)('the page of a report, in Chromium', () => {
  const browser = ReportBrowser.ofSuite()
  const openPage = browser.open.bind(browser)

  /** `TOOLWRIGHT_WRITE_IMAGES=1` writes the pictures of the documentation anew. */
  const images = process.env['TOOLWRIGHT_WRITE_IMAGES'] === '1' ? join(import.meta.dirname, '../../docs/images') : undefined

  async function report(shape: Parameters<typeof writeRun>[1]): Promise<string> {
    const { root } = makeSandbox()
    await writeRun(`${root}/runs.db`, shape)
    const { code, stderr } = await runCli(['report', 'runs.db'], { cwd: root })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return `${root}/runs.html`
  }

  const isAttacked = (page: Page) => page.evaluate(() => 'attacked' in globalThis)

  test('5,000 calls open offline, from less than 5 MB', async () => {
    const path = await report({ calls: 5_000, output: `${HOSTILE}\n${'some output\n'.repeat(80)}` })
    expect(statSync(path).size).toBeLessThan(5_000_000)
    const { page, troubles, requests, openedMs } = await openPage(`file://${path}`)
    // A quiet machine takes less than a second; this one may be busy.
    console.log(`[report] 5,000 calls: opened in ${Math.round(openedMs)} ms, ${statSync(path).size} bytes`)
    expect(openedMs).toBeLessThan(10_000)
    expect(troubles).toEqual([])
    expect(requests).toEqual([`file://${path}`])
    expect(await page.getByText('5,000 calls of 6 tools').isVisible()).toBe(true)
    // Only what can be seen is made.
    expect(await rows(page).count()).toBeLessThan(60)
  }, 60_000)

  test('what a model and its tools wrote is shown, not obeyed', async () => {
    const path = await report({ calls: 60, output: HOSTILE + 'x'.repeat(10_000_000 / 60) })
    const { page, troubles } = await openPage(`file://${path}`)
    await page.getByRole('listbox', { name: 'Calls' }).press('Home')
    for (let index = 0; index < 11; index += 1) await page.getByRole('listbox', { name: 'Calls' }).press('ArrowDown')
    expect(await page.locator('pre').first().textContent()).toContain(
      String.raw`<img src=x onerror="globalThis.attacked = true">\u{202e}\u{7}\u{1b}[2J&lt;`,
    )
    expect(await isAttacked(page)).toBe(false)
    expect(troubles).toEqual([])
  }, 60_000)

  test('a keyboard reaches every call, and links lead to them', async () => {
    const { page } = await openPage(`file://${await report({ calls: 300, runs: 2 })}`)
    const list = page.getByRole('listbox', { name: 'Calls' })
    await list.focus()
    await page.keyboard.press('End')
    expect(await rows(page, { selected: true }).getAttribute('aria-posinset')).toBe('300')
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowDown')
    const selected = rows(page, { selected: true })
    expect(await selected.getAttribute('aria-posinset')).toBe('2')
    expect(await list.getAttribute('aria-activedescendant')).toBe(await selected.getAttribute('id'))
    expect(await page.getByRole('heading', { name: 'Changed a file src/sum.ts' }).isVisible()).toBe(true)
    expect(await page.locator('.diff .added').allTextContents()).toEqual(['+const a = 2\n'])
    expect(await page.locator('.diff .removed').allTextContents()).toEqual(['-const a = 1\n'])

    const again = await openPage(page.url())
    expect(await again.page.getByRole('heading', { name: 'Changed a file src/sum.ts' }).isVisible()).toBe(true)
    await page.goBack()
    expect(await rows(page, { selected: true }).getAttribute('aria-posinset')).toBe('1')
  }, 60_000)

  test('calls are filtered by words, run, tool and ending', async () => {
    const { page } = await openPage(`file://${await report({ calls: 300, runs: 2 })}`)
    const shown = () => page.locator('.summary').textContent()
    await page.getByRole('combobox', { name: 'Run' }).selectOption('run-2')
    await expect.poll(shown).toMatch(/^150 calls/u)
    await page.getByRole('combobox', { name: 'Tool' }).selectOption('bash')
    await expect.poll(shown).toMatch(/^25 calls of 1 tool/u)
    await page.getByRole('searchbox').fill('--only 159')
    await expect.poll(shown).toMatch(/^1 call /u)
    expect(new URL(page.url()).hash).toBe('#run=run-2&tool=bash&q=--only+159')
    await page.getByRole('button', { name: 'Show all' }).click()
    await page.getByRole('button', { name: /Refused/u }).click()
    await expect.poll(shown).toMatch(/0 succeeded, 8 refused before anything was done\./u)
  }, 60_000)

  test('the timeline opens the call that is clicked', async () => {
    const { page } = await openPage(`file://${await report({ calls: 3 })}`)
    const fixture = await page.locator('.timeline canvas').boundingBox()
    // The first call is the first bar of the first lane.
    await page.mouse.click((fixture?.x ?? 0) + 2, (fixture?.y ?? 0) + 26)
    expect(await rows(page, { selected: true }).getAttribute('aria-posinset')).toBe('1')
  }, 60_000)

  test.each([3, 300])(
    'the plot of %i calls says the amounts of what is pointed at, and fits the window',
    async (calls) => {
      const { page, troubles } = await openPage(`file://${await report({ calls })}`)
      const plot = page.locator('.plot')
      await expect.poll(() => plot.locator('polyline').boundingBox()).not.toBeNull()
      expect(await plot.locator('.legend').textContent()).toBe('■ Time at work■ Bytes returned')
      await plot.locator('svg').hover()
      expect(await plot.locator('.legend').textContent()).toMatch(/Time at work \d+ms.*Bytes returned [\d.]+K?B/u)
      // No two marks of the time say the same, however short it was.
      const marks = await plot.locator('text[text-anchor=middle]').allTextContents()
      expect(new Set(marks).size).toBe(marks.length)
      await page.setViewportSize({ width: 700, height: 1000 })
      await expect.poll(async () => (await plot.locator('svg').boundingBox())?.width).toBeLessThan(700)
      expect(troubles).toEqual([])
    },
    60_000,
  )

  test.each([
    ['light', 1400],
    ['dark', 1400],
    ['light', 400],
    ['dark', 400],
  ] as const)(
    'axe finds no serious fault in the %s theme, at %i pixels',
    async (theme, width) => {
      const { page } = await openPage(`file://${await report({ calls: 120, runs: 2 })}#call=2`, theme)
      await page.setViewportSize({ width, height: 900 })
      await page.getByText('What it was given').waitFor()
      expect(await seriousFaults(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    },
    60_000,
  )

  test('what went wrong is open first, and n leads to the next', async () => {
    const { page } = await openPage(`file://${await report({ calls: 100 })}`)
    const selected = () => rows(page, { selected: true }).getAttribute('aria-posinset')
    await page.getByText('Why it failed').waitFor()
    expect(await selected()).toBe('8')
    // It was opened by the page, and not by its reader.
    expect(new URL(page.url()).hash).toBe('')
    for (const next of ['10', '28', '48']) {
      await page.keyboard.press('n')
      await expect.poll(selected).toBe(next)
    }
    await page.keyboard.press('Shift+N')
    await expect.poll(selected).toBe('28')
    await page.getByRole('button', { name: /Next failure/u }).click()
    await expect.poll(selected).toBe('48')
    await page.getByRole('searchbox').focus()
    await page.keyboard.press('n')
    expect(await page.getByRole('searchbox').inputValue()).toBe('n')
    await page.locator('.details h2').click()
    await page.locator('.details pre').first().focus()
    await page.keyboard.press('Escape')
    await page.getByText('Choose a call to see').waitFor()
  }, 60_000)

  test('a failure is as wide as a finger, however short it was', async () => {
    const { page } = await openPage(`file://${await report({ calls: 3_000 })}`)
    const canvas = page.locator('.timeline canvas')
    // Of the first failed call of the lane, a pixel at its end, where other calls lie under it.
    const box = (await canvas.boundingBox()) as { x: number; y: number; width: number }
    const at = (7 / 3_000) * box.width + 18
    await page.mouse.click(box.x + at, box.y + 18 + 26 + 6)
    await page.getByText('Why it failed').waitFor()
    await expect.poll(() => rows(page, { selected: true }).textContent()).toContain('PATCH_FAILED')
  }, 60_000)

  test('what changed and what was refused leads to its calls, and an agent to its own', async () => {
    const { root } = makeSandbox()
    await writeLoginRun(`${root}/fix-login.db`)
    expect((await runCli(['report', 'fix-login.db'], { cwd: root })).code).toBe(0)
    const { page } = await openPage(`file://${root}/fix-login.html`)
    await page
      .getByRole('group', { name: 'Changed' })
      .getByRole('button', { name: /src\/login\.ts/u })
      .click()
    await expect.poll(() => rows(page).count()).toBe(1)
    await page
      .getByRole('group', { name: 'Changed' })
      .getByRole('button', { name: /src\/login\.ts/u })
      .click()
    await page
      .getByRole('group', { name: 'Refused' })
      .getByRole('button', { name: /paste\.example:443/u })
      .click()
    await expect.poll(() => rows(page).count()).toBe(1)
    expect(new URL(page.url()).hash).toBe('#refused=paste.example%3A443')
    await page.getByRole('button', { name: 'Show all' }).click()
    await page
      .locator('.agents')
      .getByRole('button', { name: /^reader/u })
      .click()
    await expect.poll(() => rows(page).count()).toBe(4)
    await page.getByRole('list', { name: 'Attempts' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Show all' }).click()
    expect(await page.getByRole('list', { name: 'Attempts' }).getByRole('listitem').allTextContents()).toEqual([
      'tests, attempt 1 2 calls, 7.10s; its last call: bash npm test -- login (exit 1)',
      'tests, attempt 2 2 calls, 7.50s; its last call: bash npm test -- login (succeeded)',
    ])
  }, 60_000)

  test('at 400 pixels the details stand in the place of the list', async () => {
    const { page } = await openPage(`file://${await report({ calls: 100 })}`)
    await page.setViewportSize({ width: 400, height: 800 })
    await rows(page).nth(2).click()
    const heading = page.locator('.details h2')
    await expect.poll(async () => (await heading.boundingBox())?.y ?? 999).toBeLessThan(120)
    expect(await page.getByRole('listbox', { name: 'Calls' }).isVisible()).toBe(false)
    await page.getByRole('button', { name: '← All calls' }).click()
    expect(await page.getByRole('listbox', { name: 'Calls' }).isVisible()).toBe(true)
  }, 60_000)

  test('lists, headings and tooltips write out what turns a line round', async () => {
    const { root } = makeSandbox()
    const journal = await openJournal(`file:${root}/runs.db`)
    const evil = 'a\u202Egpj.exe\u200B\u0007'
    const failed = {
      status: 'error',
      acted: false,
      errorJson: JSON.stringify({ code: 'TOOL_PATH_ESCAPE', message: evil, details: { path: evil } }),
    } as const
    const call = {
      runId: evil,
      nodeId: evil,
      attempt: 1,
      inputJson: JSON.stringify({ path: evil }),
      callToken: evil,
      startedAtMs: START,
    } as const
    await journal.insertToolCall({ ...call, seq: 1, toolName: 'write', status: 'success', outputJson: '"ok"', finishedAtMs: START + 5 })
    await journal.insertToolCall({ ...call, seq: 2, toolName: evil, ...failed, finishedAtMs: START + 5 })
    await journal.insertToolCall({ ...call, runId: `${evil}2`, attempt: 2, seq: 1, toolName: 'read', ...failed, finishedAtMs: START + 5 })
    await journal.close()
    expect((await runCli(['report', 'runs.db'], { cwd: root })).code).toBe(0)
    const { page } = await openPage(`file://${root}/runs.html`)
    const canvas = (await page.locator('.timeline canvas').boundingBox()) as { x: number; y: number }
    await page.mouse.move(canvas.x + 4, canvas.y + 26)
    await page.getByRole('tooltip').waitFor()
    const all = await page.evaluate(`[
      document.body.innerText,
      document.title,
      ...[...document.querySelectorAll('*')].flatMap((one) => [...one.attributes].map(({ value }) => value)),
    ].join('\\n')`)
    expect(all).toContain(String.raw`a\u202egpj.exe\u200b\u0007`)
    // oxlint-disable-next-line no-control-regex -- that is what must not be there
    expect(all).not.toMatch(/[\u0007\u202e\u200b]/u)
  }, 60_000)

  test.each(['light', 'dark'] as const)(
    'the run in the pictures of the documentation, in the %s theme',
    async (theme) => {
      const { root } = makeSandbox()
      await writeLoginRun(`${root}/fix-login.db`)
      await using journal = await openJournal(`file:${root}/fix-login.db`, { readOnly: true })
      const { base64 } = await packReport(journal, { source: 'fix-login.db', diffs: loginDiffs })
      writeFileSync(`${root}/fix-login.html`, pageHtml({ title: 'fix-login.db · toolwright', base64 }))
      const { page, troubles } = await openPage(`file://${root}/fix-login.html`, theme)
      await page.setViewportSize({ width: 1280, height: 1160 })
      await rows(page, { name: 'Succeeded: edit src/login.ts' }).click()
      await page.getByRole('heading', { name: 'Changed a file src/login.ts' }).waitFor()
      expect(await page.locator('.diff .added').first().textContent()).toContain('An hour, in seconds.')
      expect(await page.locator('.glance .facts').textContent()).toMatch(
        /^2 attempts · 2 files changed \(\+5 −1\) · 1 host refused · 1 path refused · /u,
      )
      // A command whose result was a failure stands out, although the call succeeded.
      expect(await page.locator('.row .exit').allTextContents()).toEqual(['exit 1', 'exit 6'])
      // What narrows the calls stands in one line.
      const boxes = await page
        .locator('.filters :is(input, select, button)')
        .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().bottom))
      expect(new Set(boxes.map(Math.round)).size).toBe(1)
      await page.locator('.diff').waitFor()
      const path = images ?? join(makeSandbox().outside, 'images')
      mkdirSync(path, { recursive: true })
      await page.evaluate('scrollTo(0, 0)')
      await page.screenshot({ path: join(path, `report-${theme}.png`) })
      await page.setViewportSize({ width: 400, height: 860 })
      await page.evaluate('scrollTo(0, 0)')
      if (theme === 'light') await page.screenshot({ path: join(path, 'report-narrow-light.png') })
      expect(troubles).toEqual([])
    },
    60_000,
  )

  test('a live page gets the calls of a program that runs', async () => {
    const { root } = makeSandbox()
    await writeRun(`${root}/runs.db`, { calls: 5 })
    const { child, written } = startCli(['view', 'runs.db'], { cwd: root })
    onTestFinished(() => void child.kill('SIGKILL'))
    await expect.poll(() => written.stdout, { timeout: 10_000 }).toContain('\n')
    const { page, troubles } = await openPage(written.stdout.trim())
    await using writer = await openJournal(`file:${root}/runs.db`)
    const call = {
      runId: 'run-1',
      nodeId: 'late',
      attempt: 1,
      seq: 1,
      toolName: 'bash',
      sideEffect: true,
      startedAtMs: Date.now(),
    } as const
    const ref = await writer.insertToolCall({ ...call, inputJson: '{"command":"make all"}' })
    await rows(page, { name: 'Not ended: bash make all' }).click()
    await writer.updateToolCall(ref, { status: 'success', outputJson: JSON.stringify(HOSTILE) })
    const output = page.locator('section.text', { hasText: 'What it returned' })
    expect(await output.locator('pre').textContent()).toContain('</script>')
    expect(await isAttacked(page)).toBe(false)
    expect(troubles).toEqual([])
    child.kill('SIGINT')
    await page.getByRole('alert').waitFor()
  }, 60_000)
})
