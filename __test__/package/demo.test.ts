import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openJournal, sandboxReport } from 'toolwright'
import { describe, expect, test } from 'vitest'
import type { WireReply, WireRequest } from '../support/openai-server.ts'
import { eventually } from '../support/processes.ts'
import { checkout, KEY, makeDemoStage, type Run } from '../support/run-demo.ts'

const project = join(checkout, 'examples', 'demo', 'project')

const patch = `--- a/src/tax.js
+++ b/src/tax.js
@@ -8,5 +8,4 @@
     const group = groups.get(line.taxRate) ?? { rate: line.taxRate, net: 0, tax: 0 }
-    const net = lineNet(line)
-    group.net += net
-    group.tax += percentOf(net, line.taxRate)
+    group.net += lineNet(line)
+    group.tax = percentOf(group.net, line.taxRate)
     groups.set(line.taxRate, group)
`
const nodeTest = { calls: [{ name: 'bash', input: { cmd: 'node', args: ['--test'] } }] }
const repair = { calls: [{ name: 'edit', input: { path: 'src/tax.js', patch } }] }

/** The script of a model that knows the way; `detours` come first. */
const script =
  (...detours: WireReply[]) =>
  (_: WireRequest, index: number): WireReply =>
    [
      ...detours,
      { calls: [{ name: 'grep', input: { pattern: 'percentOf' } }] },
      { calls: [{ name: 'read', input: { path: 'src/tax.js' } }] },
      nodeTest,
      repair,
      nodeTest,
      { text: 'Repaired.' },
    ][index] ?? { text: 'Nothing is left to do.' }

/** One that makes a call and has enough. */
const only =
  (call: { name: string; input: object }) =>
  (_: WireRequest, index: number): WireReply =>
    index === 0 ? { calls: [call] } : { text: 'Enough.' }

/** What the tools answered, as the next request tells the model. */
const toolMessages = (request: WireRequest | undefined) =>
  (request?.messages ?? []).filter(({ role }) => role === 'tool').map(({ content }) => content ?? '')

function hashProject(): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(project, { recursive: true, encoding: 'utf8' }).sort()) {
    hash.update(`${name}\0`)
    if (/\.\w+$/.test(name)) hash.update(readFileSync(join(project, name)))
  }
  return hash.digest('hex')
}

/** The tools of the calls in a journal, as they began. */
async function recordedIn(file: string): Promise<string[]> {
  await using journal = await openJournal(file, { readOnly: true })
  const names: string[] = []
  for (const { runId } of await journal.listRuns()) {
    for (const { toolName } of await journal.listRun(runId)) names.push(toolName)
  }
  return names
}

function expectGreen({ code, stdout, stderr }: Run): void {
  expect(stderr).toBe('')
  expect(stdout).toContain('-- diff --')
  expect(stdout).toContain('-    group.tax += percentOf(net, line.taxRate)')
  expect(stdout).toContain('+    group.tax = percentOf(group.net, line.taxRate)')
  expect(stdout).toMatch(/^PASSED {2}the tests are green: 11 of 11 passed/m)
  expect(code).toBe(0)
}

describe('the scripted demo', { timeout: 60_000 }, () => {
  test('repairs the project and shows every call', async () => {
    const fixture = makeDemoStage()
    const before = hashProject()
    const run = await fixture.run([])
    expectGreen(run)
    expect(run.stdout).toContain('scripted')
    expect(run.stdout).not.toContain('\u001B')
    // What confines the commands, in the one line of the report.
    const { summary } = await sandboxReport({ rootDir: fixture.temporary })
    expect(run.stdout.split('\n')).toContain(summary.replace('sandbox: ', 'sandbox   '))

    const started = [...run.stdout.matchAll(/^ +#(\d+) (bash|grep|read|edit) +\S/gm)]
    const ended = [...run.stdout.matchAll(/^ +#(\d+) (ok|error) .* {2}[\d.]+ ms$/gm)]
    expect(started.map(([, , name]) => name)).toEqual(['bash', 'grep', 'read', 'read', 'edit', 'bash'])
    expect(ended.map(([, number]) => number).sort()).toEqual(['1', '2', '3', '4', '5', '6'])
    expect(run.stdout).toMatch(/^ +#1 error TOOL_COMMAND_FAILED /m)

    expect(hashProject()).toBe(before)
    expect(fixture.leftovers()).toEqual([])
    const [, count, file = ''] = /^journal +(\d+) calls: npx toolwright calls (\S+)$/m.exec(run.stdout) ?? []
    const names = await recordedIn(file)
    expect(names.slice(0, 6)).toEqual(['bash', 'grep', 'read', 'read', 'edit', 'bash'])
    expect(names).toHaveLength(Number(count))
    rmSync(join(file, '..'), { recursive: true })
  })

  test('--journal records there, also what comes after other runs', async () => {
    const fixture = makeDemoStage()
    const file = join(fixture.temporary, "it's a journal.db")
    for (const runs of [1, 2]) {
      const run = await fixture.run(['--journal', file])
      expectGreen(run)
      expect(run.stdout).toContain(`calls: npx toolwright calls '${fixture.temporary}/it'\\''s a journal.db'`)
      expect(await recordedIn(file)).toHaveLength(runs * 6)
    }
    const refused = await fixture.run(['--journal', join(fixture.temporary, 'missing', 'runs.db')])
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toMatch(/^demo: --journal .*JOURNAL_NOT_FOUND/)
  })

  test('--keep keeps the working copy', async () => {
    const run = await makeDemoStage().run(['--keep'])
    expectGreen(run)
    const kept = /^kept +(\S.*)$/m.exec(run.stdout)?.[1] ?? ''
    expect(readFileSync(join(kept, 'src', 'tax.js'), 'utf8')).toContain('percentOf(group.net, line.taxRate)')
    // What the sandbox had put there goes by itself, maybe in this moment.
    await expect.poll(() => removed(join(kept, '..'))).toBe(true)
  })
})

function removed(path: string): boolean {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {
    // The next attempt finds what is left.
  }
  return !existsSync(path)
}

describe('an OpenAI-compatible server', { timeout: 60_000 }, () => {
  test('drives the demo to the same end', async () => {
    const run = await makeDemoStage().runServed(script())
    expectGreen(run)
    expect(run.stdout).toContain('Repaired.')

    expect(run.requests).toHaveLength(6)
    for (const { authorization, model } of run.requests) {
      expect(authorization).toBe(`Bearer ${KEY}`)
      expect(model).toBe('test')
    }
    const tools = Object.fromEntries(run.requests[0]!.tools.map(({ function: { name, parameters } }) => [name, parameters]))
    expect(Object.keys(tools).sort()).toEqual(['bash', 'edit', 'glob', 'grep', 'read', 'write'])
    expect(tools['edit']).toMatchObject({
      type: 'object',
      properties: { path: { type: 'string' }, patch: { type: 'string' } },
      required: ['path', 'patch'],
    })
    expect(tools['bash']).toMatchObject({ properties: { args: { type: ['array', 'null'], items: { type: 'string' } } } })

    const [grep, read, red, edit, green] = toolMessages(run.requests[5])
    expect(grep).toMatch(/^src\/tax\.js:\d+:.*percentOf/m)
    expect(read).toBe(readFileSync(join(project, 'src', 'tax.js'), 'utf8'))
    expect(red).toContain('[TOOL_COMMAND_FAILED]')
    expect(red).toContain('1356 !== 1357')
    expect(edit).toMatch(/^ok\nApplied at line \d+\.$/u)
    expect(green).toMatch(/fail 0$/m)
  })

  test('may call tools in wrong ways: the agent is told and goes on', async () => {
    const run = await makeDemoStage().runServed(
      script(
        { calls: [{ name: 'read', input: { file: 'src/tax.js' } }] },
        { calls: [{ name: 'bash', raw: '{"cmd": "node", "args": [' }] },
        { calls: [{ name: 'delete_everything', input: {} }] },
        { calls: [{ name: 'read', input: { path: '../../etc/passwd' } }] },
      ),
    )
    expectGreen(run)
    const [wrongName, noJson, noTool, outside] = toolMessages(run.requests[4])
    expect(wrongName).toMatch(/invalid input for tool read/i)
    expect(noJson).toMatch(/invalid input for tool bash/i)
    expect(noTool).toContain('delete_everything')
    expect(outside).toContain('[TOOL_PATH_ESCAPE]')
    expect(run.stdout.match(/not run$/gm)).toHaveLength(3)
    expect(run.stdout).toMatch(/error TOOL_PATH_ESCAPE/)
  })

  test('repairs a project of the user, on a copy or in place', async () => {
    const fixture = makeDemoStage()
    const own = join(fixture.temporary, 'own project')
    cpSync(project, own, { recursive: true })
    const source = () => readFileSync(join(own, 'src', 'tax.js'), 'utf8')

    const copied = await fixture.runServed(script(), ['--project', own])
    expectGreen(copied)
    expect(source()).toContain('percentOf(net, line.taxRate)')

    const inPlace = await fixture.runServed(script(), ['--project', own, '--in-place'])
    expectGreen(inPlace)
    expect(source()).toContain('percentOf(group.net, line.taxRate)')
    // An empty one holds the place of what is protected, for a moment longer than the commands run.
    expect(await eventually(() => !existsSync(join(own, '.git')))).toBe(true)
  })

  test('that does not repair anything ends red', async () => {
    const run = await makeDemoStage().runServed(() => ({ text: 'All is well.' }))
    expect(run.code).toBe(1)
    expect(run.stdout).toContain('(nothing was changed)')
    expect(run.stdout).toMatch(/^FAILED {2}the tests are red: 9 of 11 passed/m)
  })

  test('that makes the tests agree with the defect ends red', async () => {
    const run = await makeDemoStage().runServed((_, index) =>
      index === 0
        ? {
            calls: ['test/tax.test.js', 'test/invoice.test.js'].map((path) => ({
              name: 'write',
              input: { path, content: "import { test } from 'node:test'\ntest('fine', () => {})\n" },
            })),
          }
        : { text: 'Green.' },
    )
    expect(run.code).toBe(1)
    expect(run.stdout).toMatch(/^FAILED {2}.*the agent changed the tests: test\/invoice\.test\.js, test\/tax\.test\.js/m)
  })

  test('that never comes to an end is stopped after --max-steps', async () => {
    const run = await makeDemoStage().runServed(
      () => ({ calls: [{ name: 'read', input: { path: 'package.json' } }] }),
      ['--max-steps', '3'],
    )
    expect(run.requests).toHaveLength(3)
    expect(run.stdout).toContain('The agent was stopped after 3 steps (--max-steps).')
    expect(run.code).toBe(1)
  })

  test.skipIf(process.platform !== 'linux')('runs the commands of the agent confined', async () => {
    const mark = join(checkout, 'node_modules', `.mark-${process.pid}`)
    const leave = { name: 'bash', input: { cmd: 'sh', args: ['-c', `echo x > '${mark}'`] } }
    try {
      const run = await makeDemoStage().runServed(only(leave))
      expect(toolMessages(run.requests[1])).toEqual([expect.stringContaining('[TOOL_COMMAND_FAILED]')])
      expect(existsSync(mark)).toBe(false)
    } finally {
      rmSync(mark, { force: true })
    }
  })

  // In Bun, process.env is a copy, and a command must see that copy.
  test('does not give its key to the commands of the agent', async () => {
    const show = 'console.log(Object.keys(process.env).includes("DEMO_SERVER_ACCESS"))'
    const run = await makeDemoStage().runServed(only({ name: 'bash', input: { cmd: 'node', args: ['-e', show] } }))
    expect(toolMessages(run.requests[1])).toEqual(['false\n'])
  })
})
