import { existsSync } from 'node:fs'
import { createTools, listForks, openFork, openJournal, runTask, type RunTaskOptions, type Task, ToolError } from 'toolwright'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

// Needs overlays: see docs/guides/forks.md.
const here = process.platform === 'linux' ? describe : describe.skip

async function scene() {
  const box = makeSandbox()
  box.put('a.txt', 'one\n')
  const forks = () => listForks({ rootDir: box.root })
  const journal = await openJournal('memory:')
  onTestFinished(async () => {
    // They lie where those of this user do.
    for (const { id } of await forks()) await (await openFork({ id })).discard()
    await journal.close()
  })
  type Attempt = (tools: ReturnType<typeof createTools>, task: Task) => unknown
  // Each attempt has tools of its own, as in a process of its own.
  const attempt = (fn: Attempt, more: Partial<RunTaskOptions> = {}) =>
    runTask({ journal, runId: 'run', nodeId: 'node', rootDir: box.root, onRetry: 'fork', ...more }, (task) => fn(createTools(), task))
  return { box, journal, attempt, forks }
}

here("runTask({ onRetry: 'fork' })", () => {
  test('an attempt that fails changes nothing, and the next one begins from the directory', async () => {
    const { box, attempt, forks, journal } = await scene()
    const failed = attempt(async ({ write, bash }) => {
      await write.execute({ path: 'a.txt', content: 'two\n' })
      await bash.execute({ cmd: 'sh', args: ['-c', 'cat a.txt > b.txt'] })
      expect(box.text('a.txt')).toBe('one\n')
      throw new Error('the model went away')
    })
    await expect(failed).rejects.toThrow('the model went away')
    expect([box.text('a.txt'), existsSync(box.at('b.txt')), await forks()]).toEqual(['one\n', false, []])
    const output = await attempt(async ({ write }, task) => {
      expect(task.priorEffects.map(({ toolName }) => toolName)).not.toContain('write')
      await write.execute({ path: 'a.txt', content: 'three\n' })
      await write.execute({ path: 'n/c.txt', content: 'c\n' })
      return 'done'
    })
    expect(output).toBe('done')
    expect([box.text('a.txt'), box.text('n/c.txt'), existsSync(box.at('b.txt')), await forks()]).toEqual(['three\n', 'c\n', false, []])
    const rows = await journal.listRun('run')
    expect(rows.map(({ attempt: number, toolName, status }) => `${number} ${toolName} ${status}`)).toEqual([
      '1 fork_open success',
      '1 write success',
      '1 bash success',
      '2 fork_open success',
      '2 write success',
      '2 write success',
      '2 fork_apply success',
      '2 fork_done success',
    ])
  })

  test('what somebody else has changed meanwhile is not overwritten, and the fork stays', async () => {
    const { box, attempt, forks } = await scene()
    const error: unknown = await attempt(async ({ write }) => {
      await write.execute({ path: 'a.txt', content: 'two\n' })
      box.put('a.txt', "a person's\n")
    }).catch((thrown: unknown) => thrown)
    expect(ToolError.isInstance(error) && error).toMatchObject({ code: 'FORK_CONFLICT', details: { paths: ['a.txt'] } })
    expect(box.text('a.txt')).toBe("a person's\n")
    const [left, ...others] = await forks()
    expect([left?.state, left?.id, others]).toEqual(['kept', ToolError.isInstance(error) && error.details['fork'], []])
    // What a killed process has left looks the same, and the next attempt removes it.
    await attempt(({ write }) => write.execute({ path: 'a.txt', content: 'three\n' }))
    expect([box.text('a.txt'), await forks()]).toEqual(['three\n', []])
  })

  test('forks of others stay, and what is not applied is told', async () => {
    const { box, attempt, forks } = await scene()
    const other = await openFork({ rootDir: box.root, label: 'other' })
    const tools = createTools({ rootDir: other })
    await tools.write.execute({ path: 'a.txt', content: 'other\n' })
    await other.close()
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    onTestFinished(() => warning.mockRestore())
    await attempt(async ({ write, bash }) => {
      await write.execute({ path: 'b.txt', content: 'b\n' })
      await bash.execute({ cmd: 'sh', args: ['-c', 'mkdir .vscode; echo 1 > .vscode/tasks.json'] })
    })
    expect(box.text('b.txt')).toBe('b\n')
    expect(warning.mock.calls.map(([text]) => String(text))).toEqual([expect.stringContaining('.vscode/tasks.json (protected)')])
    expect((await forks()).map(({ label }) => label).sort()).toEqual(['other', 'task ["run","node",0]'])
  })

  test('options that exclude each other are refused', async () => {
    const { attempt, journal } = await scene()
    const code = (more: Partial<RunTaskOptions>) =>
      attempt(() => 1, more).catch((error: unknown) => ToolError.isInstance(error) && error.code)
    expect(await code({ replay: 'recorded' })).toBe('INVALID_INPUT')
    const rootless = runTask({ journal, runId: 'run', nodeId: 'other', onRetry: 'fork' }, () => 1)
    await expect(rootless).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })
})
