import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { chromiumPath } from '../support/chromium.ts'

/** The calls that the list of a page shows. */
export const rows = (page: Page, options?: Parameters<Page['getByRole']>[1]) =>
  page.getByRole('listbox', { name: 'Calls' }).getByRole('option', options)

/** A real browser that opens pages of reports. */
export class ReportBrowser {
  #browser: Browser | undefined

  static ofSuite(): ReportBrowser {
    const one = new ReportBrowser()
    beforeAll(async () => {
      one.#browser = await chromium.launch({ executablePath: chromiumPath as string, args: ['--no-sandbox'] })
    }, 60_000)
    afterAll(() => one.#browser?.close())
    return one
  }

  async open(url: string, colorScheme: 'light' | 'dark' = 'light') {
    const context = await (this.#browser as Browser).newContext({
      colorScheme,
      viewport: { width: 1400, height: 1000 },
      timezoneId: 'UTC',
    })
    onTestFinished(() => context.close())
    const page = await context.newPage()
    const troubles: string[] = []
    const requests: string[] = []
    page.on('pageerror', (error) => troubles.push(String(error)))
    page.on('console', (message) => message.type() === 'error' && troubles.push(message.text()))
    page.on('request', (request) => requests.push(request.url()))
    const start = performance.now()
    await page.goto(url)
    await rows(page).first().waitFor()
    return { page, troubles, requests, openedMs: performance.now() - start }
  }
}

/** The serious faults that axe finds in a page, each with a piece of its markup. */
export async function seriousFaults(page: Page): Promise<[string, string | undefined][]> {
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  // The page's policy lets no script in; this one comes over the debugger.
  const found = await page.evaluate(`${axe}; axe.run(document)`)
  return (found as { violations: { id: string; impact: string; nodes: { html: string }[] }[] }).violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .map(({ id, nodes }) => [id, nodes[0]?.html])
}
