import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { writeRun } from '../report/recorded-run.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'

async function journalIn() {
  const { root } = makeSandbox()
  await writeRun(`${root}/runs.db`, { calls: 12, runs: 2 })
  return root
}

describe('toolwright report', () => {
  test('writes a page beside the caller, and says what is in it', async () => {
    const cwd = await journalIn()
    const { code, stdout, stderr } = await runCli(['report', 'runs.db'], { cwd })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^runs\.html: 12 calls, \d+KB\n$/u)
    expect(readFileSync(`${cwd}/runs.html`, 'utf8')).toMatch(/^<!doctype html>/u)
  })

  test('writes one run to stdout, or says as JSON where it is', async () => {
    const cwd = await journalIn()
    expect((await runCli(['report', 'runs.db', '--run', 'run-2', '-o', '-'], { cwd })).stdout).toMatch(/^<!doctype html>/u)
    const { stdout } = await runCli(['report', 'file:runs.db', '-o', 'a.html', '--json'], { cwd })
    expect(JSON.parse(stdout)).toEqual({
      path: `${cwd}/a.html`,
      calls: 12,
      bytes: statSync(`${cwd}/a.html`).size,
      isCut: false,
      leftOut: null,
    })
  })

  test.each([
    [['report'], 2, 'toolwright: report: name a journal; see toolwright report --help\n'],
    [['report', 'runs.db', 'more'], 2, 'toolwright: report: name one journal; see toolwright report --help\n'],
    [['report', 'runs.db', '--run', 'none'], 1, 'toolwright: no run "none" in runs.db, whose runs are "run-1", "run-2"\n'],
    [
      ['report', 'runs.db', '-o', 'folder'],
      1,
      "toolwright: report: the page was not written: EISDIR: illegal operation on a directory, open 'folder'\n",
    ],
    [
      ['view', 'runs.db', '--port', '70000'],
      2,
      'toolwright: view: --port is a number from 0 to 65535, not "70000"; see toolwright view --help\n',
    ],
  ])('%j ends with %i', async (args, code, stderr) => {
    const cwd = await journalIn()
    mkdirSync(`${cwd}/folder`)
    const ended = await runCli(args, { cwd })
    expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code, stderr })
    expect(existsSync(`${cwd}/runs.html`)).toBe(false)
  })

  test('names a journal that is not there', async () => {
    const { code, stderr } = await runCli(['report', 'none.db'], { cwd: makeSandbox().root })
    expect(code).toBe(1)
    expect(stderr).toContain('none.db')
  })
})

describe('toolwright view', () => {
  test('prints its address, serves the page, and ends at ^C', async () => {
    const { child, written, ended } = startCli(['view', 'runs.db', '--json'], { cwd: await journalIn() })
    onTestFinished(() => void child.kill('SIGKILL'))
    await expect.poll(() => written.stdout, { timeout: 10_000 }).toContain('\n')
    const { url } = JSON.parse(written.stdout) as { url: string }
    expect(await (await fetch(url)).text()).toMatch(/^<!doctype html>/u)
    child.kill('SIGINT')
    expect((await ended).code).toBe(0)
  })
})
