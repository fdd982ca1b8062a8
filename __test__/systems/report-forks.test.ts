import { openJournal } from 'toolwright'
import { type AgentDefinition, createSession } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { chromiumPath } from '../support/chromium.ts'
import { runCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { ReportBrowser, rows, seriousFaults } from './report-browser.ts'

/** A cell: what one sees is a sign of git's, and what a screen reader says is a word. */
const cell = (sign: string, word: string): string => sign + word
/** Shown, and obeyed by nothing. */
const EVIL = '<img src=x onerror="globalThis.attacked=1">\u202Egpj'

/** docs/guides/forks.md: "`toolwright report` and `view` show forks side by side", in a real browser. */
describe.skipIf(chromiumPath === undefined || process.platform !== 'linux')('forks in the page of a report', { timeout: 120_000 }, () => {
  const browser = ReportBrowser.ofSuite()

  /** Three agents try a fix: one is applied, one thrown away, one left. */
  async function report(files: number): Promise<string> {
    const box = makeSandbox()
    box.put('sum.ts', 'export const sum = 0\n')
    const database = `file:${box.outside}/runs.db`
    const journal = await openJournal(database)
    const agents: AgentDefinition[] = ['first', 'second', 'third'].map((name) => ({ name, isolation: 'fork' }))
    const permissions = ['**', '/**', '*'].map((pattern) => ({ permission: '*', pattern, action: 'allow' as const }))
    const session = await createSession({
      workspace: box.root,
      journal,
      manifest: { name: 'lead', permissions, agents },
      host: {
        spawn: async ({ session: child, agent }) => {
          await child.call('write', { path: 'sum.ts', content: `export const sum = '${agent.name}'\n` })
          await child.call('write', { path: `${EVIL} of ${agent.name}`, content: 'x\n' })
          if (agent.name === 'third') {
            await child.call('bash', { command: `rm sum.ts; for n in $(seq ${files}); do echo $n > made-$n; done` })
          }
          return agent.name
        },
      },
    })
    const forkOf: Record<string, string> = {}
    for (const { name } of agents) {
      const { data } = (await session.call('task', { subagent_type: name, prompt: 'Fix it.' })) as { data: { fork: { id: string } } }
      forkOf[name] = data.fork.id
    }
    await session.forks.apply(forkOf['first'] as string)
    await session.forks.discard(forkOf['second'] as string)
    await session.close()
    await journal.close()
    expect(await runCli(['report', 'runs.db'], { cwd: box.outside })).toMatchObject({ code: 0, stderr: '' })
    return `file://${box.outside}/runs.html`
  }

  test('stand side by side, with what each has changed and what became of it', async () => {
    const { page, troubles } = await browser.open(await report(3))
    const table = page.getByRole('region', { name: 'What each fork has changed' })
    const heads = await table.getByRole('columnheader').allInnerTexts()
    expect(heads.map((text) => text.replaceAll(/\s+/gu, ' ').trim())).toEqual([
      'Path',
      'first applied',
      'second thrown away',
      'third not applied',
    ])
    const row = table.getByRole('row', { name: /^sum\.ts/u })
    expect(await row.getByRole('cell').allTextContents()).toEqual([cell('M', 'changed'), cell('M', 'changed'), cell('D', 'deleted')])
    expect(
      await table
        .getByRole('row', { name: /^made-1/u })
        .getByRole('cell')
        .allTextContents(),
    ).toEqual(['', '', cell('A', 'added')])
    expect(await table.innerText()).toContain(String.raw`\u202egpj`)
    expect(await page.evaluate("'attacked' in globalThis")).toBe(false)
    expect(troubles).toEqual([])
    await table.getByRole('button', { name: 'third' }).click()
    await expect.poll(() => rows(page, { selected: true }).textContent()).toContain('task')
  })

  test('many paths are asked for', async () => {
    const { page } = await browser.open(await report(40))
    const table = page.getByRole('region', { name: 'What each fork has changed' })
    await page.getByRole('button', { name: /^and \d+ more paths$/u }).click()
    await expect.poll(() => table.getByRole('row', { name: /^made-/u }).count()).toBeGreaterThan(30)
  })

  test.each([
    ['light', 1400],
    ['dark', 1400],
    ['light', 400],
    ['dark', 400],
  ] as const)('axe finds no serious fault in the %s theme, at %i pixels', async (theme, width) => {
    const { page } = await browser.open(await report(3), theme)
    await page.setViewportSize({ width, height: 900 })
    await page.getByRole('heading', { name: 'Forks' }).waitFor()
    expect(await seriousFaults(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
  })
})
