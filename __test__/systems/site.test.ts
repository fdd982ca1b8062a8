import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { chromiumPath } from '../support/chromium.ts'
import { searches } from './site-searches.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const dist = join(checkout, '.cache/site/dist')
const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.png': 'image/png' }

/** The built site, as a plain server of files serves it. */
async function serve(): Promise<string> {
  const server = createServer((request, response) => {
    const path = decodeURI(new URL(request.url ?? '/', 'http://localhost').pathname).replace(/\/$/u, '/index.html')
    const file = join(dist, path)
    if (!existsSync(file)) return void response.writeHead(404).end()
    response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream')
    response.end(readFileSync(file))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The index of the built site, as its page loads it. */
async function searchIndex(): Promise<{ search(words: string): { id: string }[] }> {
  const home = join(checkout, '.cache/site')
  const chunks = join(dist, 'assets/chunks')
  const [name = ''] = readdirSync(chunks).filter((file) => file.startsWith('@localSearchIndexroot'))
  const [{ default: json }, { default: config }, { default: MiniSearch }] = (await Promise.all(
    [join(chunks, name), join(home, 'src/.vitepress/config.mjs'), createRequire(join(home, 'package.json')).resolve('minisearch')].map(
      (file) => import(pathToFileURL(file).href) as Promise<{ default: unknown }>,
    ),
  )) as [{ default: string }, { default: SiteConfig }, { default: Index }]
  const { options, searchOptions } = config.themeConfig.search.options.miniSearch
  const fields = { fields: ['title', 'titles', 'text'], storeFields: ['title', 'titles'] }
  return MiniSearch.loadJSON(json, { ...fields, searchOptions: { fuzzy: 0.2, prefix: true, ...searchOptions }, ...options })
}

interface SiteConfig {
  themeConfig: { search: { options: { miniSearch: { options: object; searchOptions: object } } } }
}

interface Index {
  loadJSON(json: string, options: object): { search(words: string): { id: string }[] }
}

// Built anew: a link that leads nowhere ends the build.
beforeAll(async () => {
  await promisify(execFile)('node', ['scripts/site/build.mjs'], { cwd: checkout, maxBuffer: 1 << 26 })
}, 600_000)

test('of twenty searches of somebody new, eighteen find the right page first', async () => {
  const index = await searchIndex()
  const pageOf = (id = ''): string =>
    id
      .replace(/#.*$/u, '')
      .replace(/^\//u, '')
      .replace(/\.html$/u, '')
  const missed = searches.filter(([words, pages]) => !pages.includes(pageOf(index.search(words)[0]?.id)))
  expect(searches).toHaveLength(20)
  expect(missed.length, missed.map(([words]) => `${words}: ${pageOf(index.search(words)[0]?.id)}`).join('; ')).toBeLessThanOrEqual(2)
})

/** Debian: `apt install chromium`. */
describe.skipIf(chromiumPath === undefined)('the site, in Chromium', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: chromiumPath as string, args: ['--no-sandbox'] })
  }, 600_000)
  afterAll(() => browser?.close())

  async function open(path: string) {
    const address = await serve()
    const page = await browser.newPage()
    onTestFinished(() => page.close())
    const troubles: string[] = []
    page.on('pageerror', (error) => troubles.push(String(error)))
    page.on('console', (message) => message.type() === 'error' && troubles.push(message.text()))
    page.on(
      'request',
      (request) => !request.url().startsWith(address) && !request.url().startsWith('data:') && troubles.push(request.url()),
    )
    await page.goto(address + path)
    return { page, troubles }
  }

  test('its pages open without a fault, and ask nobody else', async () => {
    for (const [path, heading] of [
      ['/', 'toolwright'],
      ['/getting-started.html', 'Getting started'],
      ['/errors.html', 'TOOL_PATH_ESCAPE'],
      ['/options.html', 'SandboxOptions'],
      ['/lists.html', 'toolwright mcp'],
      ['/reference/', 'Reference'],
      ['/decisions/', 'Decisions'],
      ['/platforms.html', 'Platforms'],
    ] as const) {
      const { page, troubles } = await open(path)
      await page.getByRole('heading', { name: heading }).first().waitFor({ timeout: 10_000 })
      expect(troubles, path).toEqual([])
    }
  }, 120_000)

  test('the first page has code above the fold, and leads to the guides', async () => {
    const { page, troubles } = await open('/')
    await page.setViewportSize({ width: 1280, height: 860 })
    const code = page.getByText('createTools({').first()
    await code.waitFor({ timeout: 10_000 })
    const box = await code.boundingBox()
    expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThan(860)
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await page.getByRole('link', { name: 'Undo' }).click()
    await page.waitForURL(/guides\/checkpoints\.html$/u)
    expect(troubles).toEqual([])
  }, 60_000)

  test('a link leads to a code of an error', async () => {
    const { page } = await open('/lists.html')
    await page.getByRole('link', { name: 'TOOL_SANDBOX_UNAVAILABLE' }).click()
    await page.waitForURL(/errors\.html#tool_sandbox_unavailable$/u)
    expect(await page.locator('#tool_sandbox_unavailable').isVisible()).toBe(true)
  }, 60_000)

  test.each([
    ['undo', /checkpoints|getting-started/u],
    ['timeout', /tools|errors|troubleshooting|processes/u],
  ])(
    'what is looked for as %s is found on a page that tells of it',
    async (word, pages) => {
      const { page } = await open('/')
      await page
        .getByRole('button', { name: /Search/u })
        .first()
        .click()
      await page.getByRole('searchbox').fill(word)
      const first = page.locator('.VPLocalSearchBox .result').first()
      await expect.poll(() => first.getAttribute('href'), { timeout: 20_000 }).toMatch(pages)
    },
    60_000,
  )

  test('its search finds a section', async () => {
    const { page, troubles } = await open('/')
    await page
      .getByRole('button', { name: /Search/u })
      .first()
      .click()
    await page.getByRole('searchbox').fill('hosts by name')
    const found = page.locator('.VPLocalSearchBox .result')
    await expect.poll(() => found.first().textContent(), { timeout: 20_000 }).toMatch(/hosts? by name/iu)
    expect(troubles).toEqual([])
  }, 60_000)
})
